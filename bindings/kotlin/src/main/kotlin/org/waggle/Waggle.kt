package org.waggle

import org.waggle.ffi.coreVersion

/** The library as a whole. */
public object Waggle {
    /** Version of the core this module was built with. */
    public val version: String get() = coreVersion()
}
