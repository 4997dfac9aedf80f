plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.kotlin.android)
    alias(libs.plugins.compose.compiler)
}

android {
    namespace = "org.waggle.reader"
    compileSdk = 36

    defaultConfig {
        applicationId = "org.waggle.reader"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "0.1.0"
        // What the core is built for: see ../README.md.
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
    }

    // `cargo ndk` puts libwaggle_ffi.so here, a folder for each kind of phone.
    sourceSets["main"].jniLibs.srcDir("../../target/jniLibs")

    buildFeatures { compose = true }
    testOptions.unitTests {
        isIncludeAndroidResources = true
        all {
            it.systemProperty("waggle.root", rootDir.resolve("..").path)
            it.systemProperty("jna.library.path", rootDir.resolve("../target/debug").path)
            it.systemProperty("waggle.test.relay", rootDir.resolve("../target/debug/waggle-test-relay").path)
        }
    }
    packaging.resources.excludes += "META-INF/{AL2.0,LGPL2.1}"
}

kotlin {
    jvmToolchain(17)
}

dependencies {
    implementation(project(":kit"))
    implementation(variantOf(libs.jna) { artifactType("aar") })
    implementation(libs.activity.compose)
    implementation(libs.compose.foundation)
    implementation(libs.compose.material3)
    implementation(libs.compose.ui)
    implementation(libs.coroutines.android)
    implementation(libs.lifecycle.runtime.compose)

    debugImplementation(libs.compose.ui.test.manifest)
    testImplementation(project(":waggle-fakes"))
    testImplementation(libs.androidx.test.core)
    testImplementation(libs.androidx.test.junit)
    testImplementation(libs.compose.ui.test.junit4)
    testImplementation(libs.jna)
    testImplementation(libs.junit4)
    testImplementation(libs.robolectric)
}
