# Perlmutter at NERSC (HPE Cray EX, Slingshot): after https://docs.nersc.gov/systems/perlmutter, not tried there.
# Its GPU nodes have A100 of 40 or 80 GB, chosen by constraint. For the head of the job script:
#   #SBATCH --account=PROJECT --qos=regular
#   #SBATCH --constraint=[(gpu&hbm40g)*3&(gpu&hbm80g)*1] --gpus-per-node=4 --ntasks-per-node=4     mixed GPU nodes
#   #SBATCH --constraint=cpu --ntasks-per-node=128                                                CPU nodes
# shellcheck shell=bash
module load PrgEnv-gnu cray-hdf5-parallel cudatoolkit
# Cray MPICH is started by srun with the site's default plugin.
export PPTRAIN_LAUNCHER="${PPTRAIN_LAUNCHER:-srun}"
export OMP_NUM_THREADS=1
