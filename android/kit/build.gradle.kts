plugins {
    alias(libs.plugins.kotlin.jvm)
}

kotlin {
    jvmToolchain(17)
}

dependencies {
    api(project(":waggle"))
    testImplementation(project(":waggle-fakes"))
    testImplementation(libs.coroutines.test)
    testImplementation(libs.junit4)
    testRuntimeOnly(libs.jna)
}

tasks.test {
    systemProperty("waggle.root", rootDir.resolve("..").path)
}
