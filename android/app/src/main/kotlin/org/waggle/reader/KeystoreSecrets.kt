package org.waggle.reader

import android.content.Context
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import android.security.keystore.UserNotAuthenticatedException
import android.util.Base64
import java.security.GeneralSecurityException
import java.security.KeyStore
import javax.crypto.AEADBadTagException
import javax.crypto.Cipher
import javax.crypto.KeyGenerator
import javax.crypto.SecretKey
import javax.crypto.spec.GCMParameterSpec
import org.waggle.SecretStore
import org.waggle.SecretStoreException

/**
 * Keeps account keys encrypted by a key of Android's Keystore that never leaves it.
 *
 * A file of preferences holds what is encrypted, AES-256 in GCM, bound to its name. A backup leaves the file out: elsewhere nothing could
 * decrypt it.
 */
class KeystoreSecrets(context: Context) : SecretStore {
    private val kept = context.getSharedPreferences("keys", Context.MODE_PRIVATE)
    private val lock = Any()

    override fun get(service: String, account: String): ByteArray? = guarded {
        val name = nameOf(service, account)
        kept.getString(name, null)?.let { decrypted(name, Base64.decode(it, Base64.NO_WRAP)) }
    }

    override fun put(service: String, account: String, secret: ByteArray) = guarded {
        val name = nameOf(service, account)
        val text = Base64.encodeToString(encrypted(name, secret), Base64.NO_WRAP)
        if (!kept.edit().putString(name, text).commit()) throw SecretStoreException.Full()
    }

    override fun delete(service: String, account: String) = guarded {
        if (!kept.edit().remove(nameOf(service, account)).commit()) throw SecretStoreException.Failed()
    }

    override fun accounts(service: String): List<String> = guarded {
        kept.all.keys.filter { it.startsWith("$service/") }.map { it.removePrefix("$service/") }
    }

    private fun nameOf(service: String, account: String) = "$service/$account"

    private fun encrypted(name: String, secret: ByteArray): ByteArray {
        val cipher = Cipher.getInstance(TRANSFORMATION)
        cipher.init(Cipher.ENCRYPT_MODE, key())
        cipher.updateAAD(name.encodeToByteArray())
        return byteArrayOf(cipher.iv.size.toByte()) + cipher.iv + cipher.doFinal(secret)
    }

    private fun decrypted(name: String, kept: ByteArray): ByteArray {
        val size = kept.firstOrNull()?.toInt() ?: throw SecretStoreException.Damaged()
        if (size !in 1 until kept.size) throw SecretStoreException.Damaged()
        val cipher = Cipher.getInstance(TRANSFORMATION)
        cipher.init(Cipher.DECRYPT_MODE, key(), GCMParameterSpec(TAG_BITS, kept, 1, size))
        cipher.updateAAD(name.encodeToByteArray())
        return cipher.doFinal(kept, 1 + size, kept.size - 1 - size)
    }

    private fun key(): SecretKey {
        val store = KeyStore.getInstance(PROVIDER).apply { load(null) }
        (store.getKey(ALIAS, null) as? SecretKey)?.let { return it }
        val purposes = KeyProperties.PURPOSE_ENCRYPT or KeyProperties.PURPOSE_DECRYPT
        val spec = KeyGenParameterSpec.Builder(ALIAS, purposes)
            .setBlockModes(KeyProperties.BLOCK_MODE_GCM)
            .setEncryptionPaddings(KeyProperties.ENCRYPTION_PADDING_NONE)
            .setKeySize(KEY_BITS)
            .build()
        return KeyGenerator.getInstance(KeyProperties.KEY_ALGORITHM_AES, PROVIDER).apply { init(spec) }.generateKey()
    }

    /** Platforms say why in words that may name accounts; only the sort of failure goes on. */
    private fun <R> guarded(work: () -> R): R = synchronized(lock) {
        try {
            work()
        } catch (e: SecretStoreException) {
            throw e
        } catch (_: UserNotAuthenticatedException) {
            throw SecretStoreException.Locked()
        } catch (_: AEADBadTagException) {
            throw SecretStoreException.Damaged()
        } catch (_: IllegalArgumentException) {
            throw SecretStoreException.Damaged()
        } catch (_: GeneralSecurityException) {
            throw SecretStoreException.Failed()
        }
    }

    private companion object {
        const val PROVIDER = "AndroidKeyStore"
        const val ALIAS = "waggle"
        const val TRANSFORMATION = "AES/GCM/NoPadding"
        const val KEY_BITS = 256
        const val TAG_BITS = 128
    }
}
