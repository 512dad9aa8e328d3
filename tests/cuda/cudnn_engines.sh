#!/bin/bash
# cudnn_engines.sh PROGRAM CUDA_LIBRARIES CAPABILITY...: cuDNN, told the properties of a GPU instead of having one, takes
# the graphs of attention and compiles kernels for GPUs of these compute capabilities (900: 9.0). The driver is the stub
# that CUDA brings for linking; 77 where there is none.
set -eu
program=$1 libraries=$2
if [ ! -f "$libraries/stubs/libcuda.so" ]; then
  echo "skipped: no stub of the driver in $libraries/stubs"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$libraries/stubs/libcuda.so" "$work/libcuda.so.1"
for capability in "${@:3}"; do
  # The properties of an H100, whose compute capability alone changes.
  cat > "$work/$capability.json" <<JSON
{"deviceName": "GPU", "cudaDeviceId": 0, "deviceVer": $capability, "driverVer": 13000, "multiProcessorCount": 132,
 "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "warpSize": 32,
 "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
 "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
 "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85000000000,
 "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800}
JSON
done
LD_LIBRARY_PATH="$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$program" "$work"/*.json
