// `org.waggle:waggle` from the work tree: the idiomatic layer, and the code that `cargo xtask bindings` generates.
plugins {
    alias(libs.plugins.kotlin.jvm)
}

val generated = rootDir.resolve("../target/bindings/kotlin")

kotlin {
    jvmToolchain(17)
    sourceSets.main {
        kotlin.srcDirs(rootDir.resolve("../bindings/kotlin/src/main/kotlin"), generated)
    }
}

dependencies {
    api(libs.coroutines.core)
    // The app takes the AAR, which has the phone's libraries in it.
    compileOnly(libs.jna)
}

tasks.compileKotlin {
    doFirst { check(generated.isDirectory) { "Run `cargo xtask bindings` first: there is no generated code in $generated." } }
}
