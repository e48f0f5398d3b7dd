#!/bin/sh
# Networks to and from ONNX, safetensors and PyTorch: what onnxruntime and PyTorch compute by them is what the vectors have; the
# same parameters come back; other graphs are refused. L2SR_PYTHON names a Python with the packages. convert.sh L2SR SOURCE
set -u
source=$(realpath "$2")
. "${0%/*}/setup.sh"
python=${L2SR_PYTHON:-python3}
cat >try.py <<'P'
import importlib.util, os, subprocess, sys
TOOL, DATA = sys.argv[1] + "/tools/convert_checkpoint.py", sys.argv[1] + "/tests/data/"
packages = ("numpy", "h5py", "safetensors", "onnx", "onnxruntime", "torch")
there = [name for name in packages if importlib.util.find_spec(name)]
lacking = [name for name in packages if name not in there]
if lacking:
    print("did not run: conversions by", ", ".join(lacking), "(not installed)")
if "numpy" not in there or "h5py" not in there:
    sys.exit()
import h5py, numpy

def convert(source, target, refusal=None):
    run = subprocess.run([sys.executable, "-B", TOOL, source, target], capture_output=True, text=True)
    assert (run.returncode == 1 and refusal in run.stderr and not os.path.exists(target)) if refusal else run.returncode == 0, (source, run.stderr)

def same(a, b):
    with h5py.File(a) as one, h5py.File(b) as other:
        assert dict(one.attrs) == dict(other.attrs), (dict(one.attrs), dict(other.attrs))
        names = []
        one["param"].visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in names:
            numpy.testing.assert_array_equal(one["param/" + name][()], other["param/" + name][()])

def near(found, expected):
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)

vectors = {kind: h5py.File(DATA + name) for kind, name in (("unet", "unet_c4_p2_n32.h5"), ("policy", "policy_n32.h5"))}
for kind, held in vectors.items():
    convert(held.filename, kind + ".h5")
    for ending in [".safetensors"] * ("safetensors" in there) + [".onnx"] * ("onnx" in there) + [".pt"] * ("torch" in there):
        convert(kind + ".h5", kind + ending)
        convert(kind + ending, kind + "_back.h5")
        same(kind + ".h5", kind + "_back.h5")
unet, policy = vectors["unet"], vectors["policy"]
image = unet["input"][()].astype(numpy.float32)[:, None]
seen = {"observation": policy["observation"][()].astype(numpy.float32)[:, None], "mask": policy["mask"][()].astype(numpy.float32)}
if "onnxruntime" in there and "onnx" in there:
    import onnx, onnxruntime
    near(onnxruntime.InferenceSession("unet.onnx").run(None, {"input": image})[0][:, 0], unet["output"][()])
    logits, value = onnxruntime.InferenceSession("policy.onnx").run(None, seen)
    near(logits, policy["encoder_output"][()])
    near(value[:, 0], policy["value"][()])
if "onnx" in there:
    import onnx
    other = onnx.load("unet.onnx")
    next(node for node in other.graph.node if node.op_type == "Relu").op_type = "Sigmoid"
    onnx.save(other, "other.onnx")
    convert("other.onnx", "other.h5", "other.onnx computes something else: its operation 3 is Sigmoid, and the U-Net of 4 channels and 2 pools has Relu there")
    open("cut.onnx", "wb").write(open("unet.onnx", "rb").read()[:3000])
    convert("cut.onnx", "other.h5", "cannot read cut.onnx")
if "torch" in there:
    import torch
    state = torch.load("unet.pt", weights_only=True)["model"]
    F = torch.nn.functional

    class UNet(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, value in state.items():
                self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(value))

        def conv(self, x, name):
            weight = getattr(self, name.replace(".", "_") + "_weight")
            return F.conv2d(x, weight, getattr(self, name.replace(".", "_") + "_bias"), padding=weight.shape[2] // 2)

        def block(self, x, name):
            for place in (0, 4):
                x = F.relu(F.instance_norm(self.conv(x, f"{name}.layers.{place}")))
            return x

        def forward(self, x):
            skips = []
            for i in range(2):
                skips.append(self.block(x, f"down_sample_layers.{i}"))
                x = F.max_pool2d(skips[-1], 2)
            x = self.block(x, "conv")
            for i in range(2):
                x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
                x = self.block(torch.cat([x, skips.pop()], 1), f"up_sample_layers.{i}")
            return self.conv(self.conv(self.conv(x, "conv2.0"), "conv2.1"), "conv2.2")

    near(UNet()(torch.from_numpy(image)).detach().numpy()[:, 0], unet["output"][()])
convert(DATA + "acquisition_45.h5", "other.h5", "it is no U-Net of the public implementations, no variational network and no policy of L2SR")
convert("unet.h5", "unet.doc", "unet.doc ends in none of .pt, .ckpt")
print("converted by", ", ".join(there))
P
run "conversions" "$python" -B try.py "$source"
cat out
[ ! -f unet.h5 ] || {
  run "phantom" "$l2sr" phantom data --train 0 --val 0 --test 1 --slices 1 --size 32 --rows 32 --columns 32
  for kind in unet unet_back; do
    [ ! -f $kind.h5 ] || run "a scan by $kind" "$l2sr" evaluate heuristics_128 --data data --samplers random --set data.size=32 --reconstructor $kind.h5 \
      --set acquisition.acceleration=4 --set acquisition.horizon=long --set evaluate.curves=false --output scan_$kind
  done
  [ ! -d scan_unet_back ] || run "is the same" "$l2sr" compare scan_unet/slices.csv scan_unet_back/slices.csv
}
finish
