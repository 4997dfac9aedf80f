package org.waggle.through

import kotlin.system.exitProcess
import org.waggle.through.ffi.Activity
import org.waggle.through.ffi.DeviceApp
import org.waggle.through.ffi.DeviceMaker
import org.waggle.through.ffi.runScenarios

/** Runs scenario files through the Kotlin layer: `[--trace] [--seed N] [--jobs N] PATH…`. Exits with 0 when all passed. */
fun main(arguments: Array<String>) {
    val paths = mutableListOf<String>()
    var trace = false
    var seed = 1UL
    var jobs = Runtime.getRuntime().availableProcessors().toUInt()
    val rest = arguments.iterator()
    while (rest.hasNext()) {
        when (val argument = rest.next()) {
            "--trace" -> trace = true
            "--seed" -> seed = rest.next().toULong()
            "--jobs" -> jobs = rest.next().toUInt()
            else -> paths += argument
        }
    }
    val maker = object : DeviceMaker {
        override fun device(activity: Activity): DeviceApp = Device(activity)
    }
    val failed = runScenarios(maker, paths, seed, trace, jobs)
    exitProcess(if (failed == 0U) 0 else 1)
}
