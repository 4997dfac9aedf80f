// Runs scenario files through the Swift layer: `[--trace] [--seed N] PATH…`. Exits with 0 when all passed.

import Foundation
import WaggleThroughGenerated

final class Maker: DeviceMaker {
    func device(activity: Activity) -> any DeviceApp {
        Counted.shared.begin(countingWith: activity)
        return Device()
    }
}

var paths: [String] = []
var trace = false
var seed: UInt64 = 1
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--trace": trace = true
    case "--seed": seed = arguments.popFirst().flatMap(UInt64.init) ?? 1
    default: paths.append(argument)
    }
}

guard Counted.shared.install() else {
    print("the Swift runtime has no place to count its work")
    exit(2)
}
// One file at a time: what the runtime has to do is counted for the whole process.
exit(runScenarios(maker: Maker(), paths: paths, seed: seed, trace: trace, jobs: 1) == 0 ? 0 : 1)
