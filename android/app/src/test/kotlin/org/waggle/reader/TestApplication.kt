package org.waggle.reader

import java.io.InputStream
import java.io.OutputStream
import java.security.Key
import java.security.KeyStore
import java.security.KeyStoreSpi
import java.security.Provider
import java.security.SecureRandom
import java.security.Security
import java.security.cert.Certificate
import java.security.spec.AlgorithmParameterSpec
import java.util.Collections
import java.util.Date
import java.util.Enumeration
import javax.crypto.KeyGenerator
import javax.crypto.KeyGeneratorSpi
import javax.crypto.SecretKey
import org.waggle.PublicKey
import org.waggle.WaggleSession
import org.waggle.fakes.FakeSession
import org.waggle.fakes.fakeId
import org.waggle.kit.ReaderClient

/** The real application, but for Android's Keystore, which Robolectric has none of. */
open class TestApplication : ReaderApplication() {
    init {
        if (Security.getProvider(NAME) == null) Security.addProvider(SoftKeystore())
    }

    internal companion object {
        const val NAME = "AndroidKeyStore"
    }
}

/** The application in its own colours, whatever the wallpaper. */
class HoneyApplication : TestApplication() {
    override val dynamicColour: Boolean get() = false
}

/** The application over a scripted session, with an account that was made just now. */
class ScriptedApplication : ReaderApplication() {
    /** The session with whatever community is opened. */
    val session = FakeSession(fakeId(1))

    override val dynamicColour: Boolean get() = false

    override fun client(): ReaderClient = object : ReaderClient {
        override var account: PublicKey? = null

        override suspend fun signIn(key: String) = session.account.also { account = it }

        override suspend fun createAccount() = signIn("")

        override suspend fun accounts() = listOfNotNull(account)

        override suspend fun useAccount(account: PublicKey) = Unit

        override suspend fun backupKey(account: PublicKey) = "nsec1" + "thisisnokey".repeat(6).take(58)

        override suspend fun signOut(account: PublicKey) = Unit

        override fun session(host: String): WaggleSession = session

        override suspend fun close() = Unit
    }
}

/** Android's Keystore in software: keys that are made by name and stay inside. */
class SoftKeystore : Provider(TestApplication.NAME, "1", "keys in memory") {
    init {
        put("KeyStore.${TestApplication.NAME}", Store::class.java.name)
        put("KeyGenerator.AES", Generator::class.java.name)
    }

    class Generator : KeyGeneratorSpi() {
        private var name = ""

        override fun engineInit(random: SecureRandom?): Unit = error("no name")

        override fun engineInit(size: Int, random: SecureRandom?): Unit = error("no name")

        override fun engineInit(spec: AlgorithmParameterSpec, random: SecureRandom?) {
            name = (spec as android.security.keystore.KeyGenParameterSpec).keystoreAlias
            check(spec.keySize == 256 && spec.blockModes.toList() == listOf("GCM"))
        }

        override fun engineGenerateKey(): SecretKey =
            KeyGenerator.getInstance("AES", "SunJCE").apply { init(256) }.generateKey().also { keys[name] = it }
    }

    class Store : KeyStoreSpi() {
        override fun engineGetKey(alias: String, password: CharArray?): Key? = keys[alias]

        override fun engineContainsAlias(alias: String) = alias in keys

        override fun engineIsKeyEntry(alias: String) = alias in keys

        override fun engineDeleteEntry(alias: String) {
            keys.remove(alias)
        }

        override fun engineAliases(): Enumeration<String> = Collections.enumeration(keys.keys)

        override fun engineSize() = keys.size

        override fun engineLoad(stream: InputStream?, password: CharArray?) = Unit

        override fun engineLoad(param: KeyStore.LoadStoreParameter?) = Unit

        override fun engineStore(stream: OutputStream?, password: CharArray?) = Unit

        override fun engineGetCertificateChain(alias: String): Array<Certificate>? = null

        override fun engineGetCertificate(alias: String): Certificate? = null

        override fun engineGetCreationDate(alias: String): Date? = null

        override fun engineGetCertificateAlias(cert: Certificate?): String? = null

        override fun engineIsCertificateEntry(alias: String) = false

        override fun engineSetKeyEntry(alias: String, key: Key, password: CharArray?, chain: Array<Certificate>?): Unit = error("no")

        override fun engineSetKeyEntry(alias: String, key: ByteArray, chain: Array<Certificate>?): Unit = error("no")

        override fun engineSetCertificateEntry(alias: String, cert: Certificate?): Unit = error("no")
    }

    companion object {
        internal val keys = HashMap<String, SecretKey>()
    }
}
