// RUN: girih-opt %s -wg-choose-stages -verify-diagnostics

// expected-error @below {{expected one #nvvm.target on the module, found none; write gpu.module @m [#nvvm.target<chip = "sm_90a">]}}
gpu.module @m {
}
