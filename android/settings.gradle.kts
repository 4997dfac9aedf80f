// For Android Studio. Where there is no Gradle, pom.xml builds and tests the same sources.
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositoriesMode = RepositoriesMode.FAIL_ON_PROJECT_REPOS
    repositories {
        google()
        mavenCentral()
    }
}

rootProject.name = "waggle-android"
include(":waggle", ":waggle-fakes", ":kit", ":app")

// The idiomatic layer is shared with every other app on the JVM; this build takes its sources.
project(":waggle").projectDir = file("waggle")
project(":waggle-fakes").projectDir = file("waggle-fakes")
