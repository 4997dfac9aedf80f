package org.waggle.reader

import android.content.Context
import androidx.test.core.app.ApplicationProvider
import org.junit.Assert.assertArrayEquals
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNull
import org.junit.Assert.assertThrows
import org.junit.Test
import org.junit.runner.RunWith
import org.robolectric.RobolectricTestRunner
import org.robolectric.annotation.Config
import org.robolectric.annotation.GraphicsMode
import org.waggle.SecretStoreException

/** Keys at rest, over a Keystore in software: what Android's own does is seen on a phone only. */
@RunWith(RobolectricTestRunner::class)
@GraphicsMode(GraphicsMode.Mode.NATIVE)
@Config(sdk = [35], application = TestApplication::class)
class KeystoreSecretsTest {
    private val context = ApplicationProvider.getApplicationContext<Context>()
    private val kept = context.getSharedPreferences("keys", Context.MODE_PRIVATE)
    private val secrets = KeystoreSecrets(context)
    private val secret = ByteArray(32) { it.toByte() }

    @Test
    fun `what is put is got, and lies encrypted`() {
        secrets.put("s", "a", secret)
        secrets.put("s", "b", secret.reversedArray())
        assertArrayEquals(secret, KeystoreSecrets(context).get("s", "a"))
        assertEquals(setOf("a", "b"), secrets.accounts("s").toSet())
        val bytes = kept.all.values.map { android.util.Base64.decode(it as String, 0) }
        assertFalse(bytes.any { String(secret, Charsets.ISO_8859_1) in String(it, Charsets.ISO_8859_1) })
        secrets.delete("s", "a")
        secrets.delete("s", "a")
        assertNull(secrets.get("s", "a"))
    }

    @Test
    fun `what was changed or moved is damaged`() {
        secrets.put("s", "a", secret)
        val text = kept.getString("s/a", "")!!
        kept.edit().putString("s/b", text).putString("s/c", "AAAA").putString("s/x", "no base64 %").commit()
        listOf("b", "c", "x").forEach { name ->
            assertThrows(name, SecretStoreException.Damaged::class.java) { secrets.get("s", name) }
        }
    }
}
