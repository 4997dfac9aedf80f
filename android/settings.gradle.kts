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
