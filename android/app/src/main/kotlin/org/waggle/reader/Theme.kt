package org.waggle.reader

import android.os.Build
import androidx.compose.foundation.isSystemInDarkTheme
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.darkColorScheme
import androidx.compose.material3.dynamicDarkColorScheme
import androidx.compose.material3.dynamicLightColorScheme
import androidx.compose.material3.lightColorScheme
import androidx.compose.runtime.Composable
import androidx.compose.ui.graphics.Color
import androidx.compose.ui.platform.LocalContext

private val Light = lightColorScheme(
    primary = Color(0xFF7A5900),
    onPrimary = Color.White,
    primaryContainer = Color(0xFFFFDEA2),
    onPrimaryContainer = Color(0xFF261900),
    secondary = Color(0xFF6B5D3F),
    secondaryContainer = Color(0xFFF5E0BB),
    onSecondaryContainer = Color(0xFF241A04),
    tertiary = Color(0xFF2F6A3E),
    tertiaryContainer = Color(0xFFD3EBD2),
    onTertiaryContainer = Color(0xFF0A2110),
    background = Color(0xFFFDF8EE),
    onBackground = Color(0xFF1F1B13),
    surface = Color(0xFFFDF8EE),
    onSurface = Color(0xFF1F1B13),
    surfaceVariant = Color(0xFFEDE1CF),
    onSurfaceVariant = Color(0xFF4D4639),
    surfaceContainerLow = Color(0xFFF8F1E4),
    surfaceContainer = Color(0xFFF3ECDD),
    surfaceContainerHigh = Color(0xFFEDE6D7),
    outline = Color(0xFF7F7667),
    outlineVariant = Color(0xFFD9CFBC),
)

private val Dark = darkColorScheme(
    primary = Color(0xFFF2C14B),
    onPrimary = Color(0xFF402D00),
    primaryContainer = Color(0xFF5C4200),
    onPrimaryContainer = Color(0xFFFFDEA2),
    secondary = Color(0xFFD8C4A0),
    secondaryContainer = Color(0xFF52452A),
    onSecondaryContainer = Color(0xFFF5E0BB),
    tertiary = Color(0xFFA9D3A9),
    tertiaryContainer = Color(0xFF2B4A32),
    onTertiaryContainer = Color(0xFFC9EAC8),
    background = Color(0xFF16130B),
    onBackground = Color(0xFFEAE1D4),
    surface = Color(0xFF16130B),
    onSurface = Color(0xFFEAE1D4),
    surfaceVariant = Color(0xFF4D4639),
    onSurfaceVariant = Color(0xFFD0C5B4),
    surfaceContainerLow = Color(0xFF1F1B13),
    surfaceContainer = Color(0xFF231F17),
    surfaceContainerHigh = Color(0xFF2E2A21),
    outline = Color(0xFF998F80),
    outlineVariant = Color(0xFF4D4639),
)

/** Colours: the phone's own from Android 12 on where [wallpaper] is wanted, honey else. */
@Composable
fun WaggleTheme(wallpaper: Boolean, dark: Boolean = isSystemInDarkTheme(), content: @Composable () -> Unit) {
    val dynamic = wallpaper && Build.VERSION.SDK_INT >= Build.VERSION_CODES.S
    val context = LocalContext.current
    val colours = when {
        dynamic && dark -> dynamicDarkColorScheme(context)
        dynamic -> dynamicLightColorScheme(context)
        dark -> Dark
        else -> Light
    }
    MaterialTheme(colorScheme = colours, content = content)
}
