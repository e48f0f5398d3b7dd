#!/bin/sh
# The variational network in small: trained on k-space of several coils, which beats the zero-filled image; going on;
# slices of other coils; L2SR's, PG-MRI's and an oracle's scans; published checkpoints; refusals. varnet.sh L2SR
set -u
. "${0%/*}/setup.sh"
convert="$(dirname "$0")/../../tools/convert_checkpoint.py"
case $convert in /*) ;; *) convert=$OLDPWD/$convert ;; esac

cat >scene.yaml <<'Y'
data: {size: 32, path: coils, source: kspace, kspace: measured, crop: kspace}
reconstruct: {method: varnet}
varnet: {cascades: 2, channels: 4, pools: 2, sense_channels: 2, sense_pools: 2}
policy: {channels: 2, pools: 2, hidden: 16}
train: {loss: ssim_uniform, optimiser: adam, epochs: 20, batch: 2, rate: 0.004, rate_every: 15, accelerations: [4], initial_accelerations: [8]}
learn: {steps: 16, scans: 4, validations: 1}
alternate: {rounds: 1, steps: 16, epochs: 1, batch: 4}
pgmri: {trajectories: 2, batch: 2, accumulation: 1, epochs: 1}
evaluate: {samplers: [random], metrics: [ssim_uniform]}
Y
run "phantom" "$l2sr" phantom coils --train 8 --val 1 --test 4 --slices 5 --coils 3 --size 32 --rows 64 --columns 38
run "phantom of one coil" "$l2sr" phantom single --train 2 --val 1 --test 2 --slices 3 --size 32 --rows 64 --columns 38
run "describe network" "$l2sr" describe network scene
what='describe network'
says out 'cascades.1.dc_weight'
run "describe networks" "$l2sr" describe networks
what='describe networks'
says out 'arXiv 2004.06688'

ssim() { sed -n 's/.*"ssim_uniform":{"mean":\([0-9.]*\).*/\1/p' out; }
run "train" "$l2sr" train scene --output whole --quiet
run "the zero-filled image" "$l2sr" evaluate scene --set reconstruct.method=auto --json --set evaluate.trajectories=4
least=$(ssim)
run "the network's" "$l2sr" evaluate scene --reconstructor whole/best.h5 --json --output results --set evaluate.trajectories=4
trained=$(ssim)
tried=$((tried + 1))
echo "test SSIM: zero-filled $least, variational network $trained"
! grep checksums err || complain "a trained network's numbers have no checksums"
awk "BEGIN { exit !($trained > $least + 0.02) }" || complain "zero-filled $least and the network's $trained do not follow"
run "few at a time" "$l2sr" evaluate scene --reconstructor whole/best.h5 --output few --set evaluate.trajectories=4 --set network.batch=2 --set world.envs=3
run "are the same" "$l2sr" compare few/results.h5 results/results.h5
run "one epoch" "$l2sr" train scene --output cut --quiet --epochs 1
run "going on" "$l2sr" train scene --output cut --quiet --epochs 2 --resume
run "two" "$l2sr" train scene --output two --quiet --epochs 2
run "equals never stopping" "$l2sr" compare cut/last.h5 two/last.h5
run "timed" "$l2sr" bench network scene --train --set coils.simulate=3 --batch 2
what='timed'
says out 'variational network of 2 cascades, 4 channels, 2 pools, 3 coils, 32x32, batch 2, f32'
grep -q 'forward + loss + backward + Adam [0-9.]* slices/s' out || complain 'timed: no rate'

image='--set data.path=single --set data.source=auto --set data.kspace=image --set data.crop=image'
# shellcheck disable=SC2086
run "images, by a network of coils" "$l2sr" evaluate scene $image --reconstructor whole/best.h5
run "one measured coil" "$l2sr" train scene --set data.path=single --output single_run --epochs 1 --quiet
# shellcheck disable=SC2086
run "points, whose maps are 1" "$l2sr" train scene $image --set acquisition.geometry=points --set varnet.sense=maps \
  --output points --epochs 1 --quiet
# shellcheck disable=SC2086
run "simulated coils, whose maps are ESPIRiT's" "$l2sr" train scene $image --set coils.simulate=3 --set coils.maps=prescan \
  --set varnet.sense=maps --output simulated --epochs 1 --quiet
# maps of the lines that all scans of a mixture start with: 16 here
mixture="$image --set coils.simulate=3 --set varnet.sense=maps --set data.most=4 --set coils.kernel=4 --epochs 1 --quiet
  --set acquisition.initial_lines=20 --set acquisition.budget=2"
pairs='--set train.accelerations=[1,2] --set train.initial_accelerations=[1,2]'
# shellcheck disable=SC2086
run "maps of acquired lines" "$l2sr" train scene $mixture $pairs --set coils.maps=acquired --output acquired
# shellcheck disable=SC2086
run "maps of so many lines" "$l2sr" train scene $mixture $pairs --set coils.maps=prescan --set coils.lines=16 --output prescan
run "are the same" "$l2sr" compare acquired/last.h5 prescan/last.h5
# shellcheck disable=SC2086
refuse 2 'entry 1 of train.initial_accelerations starts with 4 lines; maps need 12' train scene $mixture --set coils.maps=acquired \
  --output none
run "a rectangle that its poolings do not divide" "$l2sr" train scene --set data.size=[40,34] --output rectangle \
  --epochs 1 --quiet
run "an oracle" "$l2sr" evaluate scene --samplers oracle --reconstructor whole/best.h5 --set data.most=1
for method in l2sr pgmri; do
  run "$method" "$l2sr" train scene --method $method --output $method --quiet --set learn.reconstructor=whole/best.h5
done
run "LOUPE's mask, through data of all coils" "$l2sr" train scene --method loupe --output loupe --quiet --epochs 2 --set loupe.rate=0.1
run "its scans" "$l2sr" evaluate scene --samplers fixed_mask,learned_mask --set sampler.mask=loupe/last.h5 --reconstructor loupe/last.h5
tau='--set tau.steps=2 --set tau.hidden=16'
# shellcheck disable=SC2086
run "tau steps, through data of all coils" "$l2sr" train scene --method tau_step $tau --output tau --quiet --epochs 1 --set data.most=6
run "their scans" "$l2sr" evaluate scene --samplers tau_step,tau_step_best --set sampler.tau_step=tau/last.h5 --reconstructor tau/last.h5 \
  --set data.most=4
run "a policy's scans" "$l2sr" evaluate scene --samplers policy --policy l2sr/policy_1/best.h5 --reconstructor whole/best.h5

# ---- refusals -----------------------------------------------------------------------------------------------

refuse 2 'reconstruct.method is varnet, and no reconstructor is named; give --reconstructor FILE' evaluate scene
refuse 1 "its attribute network is 'varnet'; expected 'unet'" evaluate scene --set reconstruct.method=auto --reconstructor whole/best.h5
refuse 2 'it was trained with varnet.sense network, and the scene says maps' evaluate scene --set varnet.sense=maps \
  --set coils.maps=prescan --reconstructor whole/best.h5
refuse 2 'slices have 3 coils, and coils.maps is none' train scene --quiet --output none --set varnet.sense=maps
# shellcheck disable=SC2086
# shellcheck disable=SC2086
refuse 2 'computes in f32 or half, and network.precision is mixed' train scene $image --quiet --output none --set network.precision=mixed
# shellcheck disable=SC2086
refuse 2 'network.input complex; set that to magnitude' train scene $image --quiet --output none --set network.input=complex
refuse 2 'which is of lines and points, and acquisition.geometry is spokes' train scene --quiet --output none \
  --set acquisition.geometry=spokes
refuse 2 'varnet.sense is network, which looks at lines in the middle' train scene --quiet --output none \
  --set acquisition.geometry=points
refuse 2 'the network has more than 2048 nodes' train scene --quiet --output none --set varnet.cascades=64
refuse 1 'varnet.cascades was 2 and is 3 now' train scene --quiet --output whole --resume --set varnet.cascades=3
refuse 2 'its network has varnet.cascades 2, varnet.channels 4' train scene --quiet --output none --set varnet.cascades=3 \
  --set train.start=whole/best.h5

# ---- checkpoints of fastMRI's code --------------------------------------------------------------------------

if python3 -c 'import torch, h5py' 2>/dev/null; then
  cat >layout.py <<'Y'
import sys, torch
channels, pools, sense, cascades = 4, 2, 2, 2
state = {}
def unet(name, channels):
    down = [2] + [channels << i for i in range(pools + 1)]
    blocks = [(f"down_sample_layers.{i}", down[i], down[i + 1]) for i in range(pools)] + [("conv", down[pools], down[pools + 1])]
    for i in range(pools):
        to = channels << (pools - 1 - i)
        state[f"{name}.up_transpose_conv.{i}.layers.0.weight"] = torch.randn(2 * to, to, 2, 2)
        blocks.append((f"up_conv.{i}" + (".0" if i == pools - 1 else ""), 2 * to, to))
    for block, inputs, outputs in blocks:
        state[f"{name}.{block}.layers.0.weight"] = torch.randn(outputs, inputs, 3, 3)
        state[f"{name}.{block}.layers.4.weight"] = torch.randn(outputs, outputs, 3, 3)
    state[f"{name}.up_conv.{pools - 1}.1.weight"] = torch.randn(2, channels, 1, 1)
    state[f"{name}.up_conv.{pools - 1}.1.bias"] = torch.randn(2)
torch.manual_seed(1)
unet("varnet.sens_net.norm_unet.unet", sense)
for i in range(cascades):
    state[f"varnet.cascades.{i}.dc_weight"] = torch.ones(1)
    unet(f"varnet.cascades.{i}.model.unet", channels)
if len(sys.argv) > 2:
    other = torch.load(sys.argv[2])["model"]
    assert len(other) == len(state) and all(torch.equal(state["varnet." + name], value) for name, value in other.items())
state["loss.w"] = torch.ones(1, 1, 7, 7)
torch.save({"state_dict": state, "epoch": 3}, sys.argv[1])
Y
  run "a state dict of that layout" python3 layout.py published.ckpt
  run "convert" python3 -B "$convert" published.ckpt published.h5
  what=convert
  says out 'variational network, 2 cascades, 4 channels, 2 pools, sensitivities 2 channels, 2 pools'
  run "evaluate it" "$l2sr" evaluate scene --reconstructor published.h5 --set data.most=1
  says err 'published.h5 has no checksums, as what is older or converted'
  run "convert back" python3 -B "$convert" published.h5 back.pt
  run "equals the first" python3 layout.py again.ckpt back.pt
else
  echo "did not run: fastMRI's checkpoints; python3 has no torch or h5py"
fi
finish
