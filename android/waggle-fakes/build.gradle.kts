plugins {
    alias(libs.plugins.kotlin.jvm)
}

kotlin {
    jvmToolchain(17)
    sourceSets.main {
        kotlin.srcDirs(rootDir.resolve("../bindings/kotlin/fakes/src/main/kotlin"))
    }
}

dependencies {
    api(project(":waggle"))
}
