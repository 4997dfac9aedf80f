// Before a community is open: signing in, a new account's backup, adding a community.
package org.waggle.reader

import android.view.WindowManager
import androidx.activity.compose.LocalActivity
import androidx.compose.foundation.layout.Arrangement
import androidx.compose.foundation.layout.Column
import androidx.compose.foundation.layout.ColumnScope
import androidx.compose.foundation.layout.fillMaxSize
import androidx.compose.foundation.layout.fillMaxWidth
import androidx.compose.foundation.layout.imePadding
import androidx.compose.foundation.layout.padding
import androidx.compose.foundation.layout.safeDrawingPadding
import androidx.compose.foundation.layout.size
import androidx.compose.foundation.layout.widthIn
import androidx.compose.foundation.rememberScrollState
import androidx.compose.foundation.text.KeyboardActions
import androidx.compose.foundation.text.KeyboardOptions
import androidx.compose.foundation.verticalScroll
import androidx.compose.material3.AlertDialog
import androidx.compose.material3.Button
import androidx.compose.material3.ListItem
import androidx.compose.material3.MaterialTheme
import androidx.compose.material3.OutlinedButton
import androidx.compose.material3.OutlinedTextField
import androidx.compose.material3.Surface
import androidx.compose.material3.Text
import androidx.compose.material3.TextButton
import androidx.compose.runtime.Composable
import androidx.compose.runtime.DisposableEffect
import androidx.compose.runtime.getValue
import androidx.compose.runtime.mutableStateOf
import androidx.compose.runtime.remember
import androidx.compose.runtime.rememberCoroutineScope
import androidx.compose.runtime.saveable.rememberSaveable
import androidx.compose.runtime.setValue
import androidx.compose.ui.Alignment
import androidx.compose.ui.Modifier
import androidx.compose.ui.platform.LocalClipboard
import androidx.compose.ui.res.stringResource
import androidx.compose.ui.semantics.heading
import androidx.compose.ui.semantics.semantics
import androidx.compose.ui.text.font.FontFamily
import androidx.compose.ui.text.input.ImeAction
import androidx.compose.ui.text.input.KeyboardType
import androidx.compose.ui.text.input.PasswordVisualTransformation
import androidx.compose.ui.text.style.TextAlign
import androidx.compose.ui.unit.dp
import kotlinx.coroutines.launch
import org.waggle.Failure
import org.waggle.kit.ReaderModel
import org.waggle.kit.ReaderState
import org.waggle.kit.Stage

@Composable
private fun Page(title: String, text: String, content: @Composable ColumnScope.() -> Unit) {
    Column(
        Modifier.fillMaxSize().safeDrawingPadding().imePadding().verticalScroll(rememberScrollState()).padding(24.dp),
        verticalArrangement = Arrangement.spacedBy(16.dp, Alignment.CenterVertically),
        horizontalAlignment = Alignment.CenterHorizontally,
    ) {
        Glyph(R.drawable.ic_bee, null, Modifier.size(112.dp), MaterialTheme.colorScheme.primary)
        Text(title, Modifier.semantics { heading() }, style = MaterialTheme.typography.headlineMedium, textAlign = TextAlign.Center)
        Text(text, Modifier.widthIn(max = 480.dp), style = MaterialTheme.typography.bodyMedium, textAlign = TextAlign.Center)
        Column(
            Modifier.widthIn(max = 480.dp).fillMaxWidth(),
            verticalArrangement = Arrangement.spacedBy(12.dp),
            horizontalAlignment = Alignment.CenterHorizontally,
            content = content,
        )
    }
}

@Composable
private fun Problem(failure: Failure?) {
    if (failure != null) Text(failure.sentence, color = MaterialTheme.colorScheme.error, style = MaterialTheme.typography.bodyMedium)
}

/** Signing in with a key, or making an account. */
@Composable
fun SignInScreen(state: ReaderState, reader: ReaderModel) {
    // Not saved with the window: keys go nowhere but the key store.
    var key by remember { mutableStateOf("") }
    val signIn = { if (key.isNotBlank() && !state.busy) reader.signIn(key) }
    Page(stringResource(R.string.sign_in_title), stringResource(R.string.sign_in_text)) {
        OutlinedTextField(
            key,
            { key = it },
            Modifier.fillMaxWidth(),
            label = { Text(stringResource(R.string.key_label)) },
            placeholder = { Text(stringResource(R.string.key_hint)) },
            isError = state.failure != null,
            singleLine = true,
            visualTransformation = PasswordVisualTransformation(),
            keyboardOptions = KeyboardOptions(autoCorrectEnabled = false, keyboardType = KeyboardType.Password, imeAction = ImeAction.Go),
            keyboardActions = KeyboardActions(onGo = { signIn() }),
        )
        Problem(state.failure)
        Button(signIn, Modifier.fillMaxWidth(), enabled = key.isNotBlank() && !state.busy) { Text(stringResource(R.string.sign_in)) }
        OutlinedButton(reader::createAccount, Modifier.fillMaxWidth(), enabled = !state.busy) {
            Text(stringResource(R.string.create_account))
        }
    }
}

/** A new account's key, to be written down. */
@Composable
fun BackupScreen(stage: Stage.Backup, reader: ReaderModel) {
    val clipboard = LocalClipboard.current
    val scope = rememberCoroutineScope()
    Unseen()
    Page(stringResource(R.string.backup_title), stringResource(R.string.backup_text)) {
        Surface(color = MaterialTheme.colorScheme.surfaceContainerHigh, shape = MaterialTheme.shapes.medium) {
            Text(stage.key, Modifier.padding(16.dp), style = MaterialTheme.typography.bodyLarge, fontFamily = FontFamily.Monospace)
        }
        OutlinedButton({ scope.launch { clipboard.setClipEntry(secretClip(stage.key)) } }, Modifier.fillMaxWidth()) {
            Text(stringResource(R.string.backup_copy))
        }
        Button(reader::backedUp, Modifier.fillMaxWidth()) { Text(stringResource(R.string.backup_done)) }
    }
}

/** Keeps what shows out of screenshots, recordings and the list of apps. */
@Composable
private fun Unseen() {
    val window = LocalActivity.current?.window ?: return
    DisposableEffect(window) {
        window.addFlags(WindowManager.LayoutParams.FLAG_SECURE)
        onDispose { window.clearFlags(WindowManager.LayoutParams.FLAG_SECURE) }
    }
}

/** Adding a community, or going to one that was added. */
@Composable
fun AddCommunityScreen(state: ReaderState, reader: ReaderModel) {
    var address by rememberSaveable { mutableStateOf("") }
    var leaving by remember { mutableStateOf(false) }
    val open = { if (address.isNotBlank() && !state.busy) reader.addCommunity(address) }
    Page(stringResource(R.string.add_community), stringResource(R.string.add_community_text)) {
        OutlinedTextField(
            address,
            { address = it },
            Modifier.fillMaxWidth(),
            label = { Text(stringResource(R.string.address_label)) },
            placeholder = { Text(stringResource(R.string.address_hint)) },
            isError = state.failure != null,
            singleLine = true,
            keyboardOptions = KeyboardOptions(autoCorrectEnabled = false, keyboardType = KeyboardType.Uri, imeAction = ImeAction.Go),
            keyboardActions = KeyboardActions(onGo = { open() }),
        )
        Problem(state.failure)
        Button(open, Modifier.fillMaxWidth(), enabled = address.isNotBlank() && !state.busy) {
            Text(stringResource(R.string.open_community))
        }
        state.communities.forEach { host -> CommunityItem(host) { reader.switchTo(host) } }
        TextButton({ leaving = true }) { Text(stringResource(R.string.sign_out)) }
    }
    if (leaving) {
        Confirm(R.string.sign_out, R.string.sign_out_text, onDismiss = { leaving = false }) { reader.signOut() }
    }
}

@Composable
private fun CommunityItem(host: String, onClick: () -> Unit) {
    Surface(onClick, Modifier.fillMaxWidth(), shape = MaterialTheme.shapes.medium) {
        ListItem({ Text(hostName(host)) }, leadingContent = { Avatar(host, hostName(host)) })
    }
}

/** An address as people say it. */
fun hostName(host: String): String = host.substringAfter("://").trimEnd('/')

/** Asks before something that cannot be taken back. */
@Composable
fun Confirm(title: Int, text: Int, onDismiss: () -> Unit, onConfirm: () -> Unit) {
    CoversScreen()
    AlertDialog(
        onDismissRequest = onDismiss,
        title = { Text(stringResource(title)) },
        text = { Text(stringResource(text)) },
        confirmButton = {
            TextButton({
                onDismiss()
                onConfirm()
            }) { Text(stringResource(title)) }
        },
        dismissButton = { TextButton(onDismiss) { Text(stringResource(R.string.cancel)) } },
    )
}
