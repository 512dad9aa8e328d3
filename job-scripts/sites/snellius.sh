# Snellius at SURF (A100, H100, Rome and Genoa nodes): after https://servicedesk.surf.nl/wiki (Snellius), not tried there.
# Each kind of node is a partition, so mixed nodes are a heterogeneous job (hetjob.slurm). For its components:
#   #SBATCH --partition=gpu_a100 --gpus-per-node=4 --ntasks-per-node=4
#   #SBATCH --partition=gpu_h100 --gpus-per-node=4 --ntasks-per-node=4
#   #SBATCH --partition=rome --ntasks-per-node=128       and       #SBATCH --partition=genoa --ntasks-per-node=192
# shellcheck shell=bash
module load 2023 foss/2023a HDF5/1.14.0-gompi-2023a
export PPTRAIN_LAUNCHER="${PPTRAIN_LAUNCHER:-srun --mpi=pmix}"
export OMP_NUM_THREADS=1
