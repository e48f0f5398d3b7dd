#!/bin/sh
# The brain protocol (PROTOCOL 1.2): multi-coil volumes combined by root-sum-of-squares, padded to 384, cropped to 256,
# x8 and x16; on phantoms, and on measured data where L2SR_DATA names a folder of them. brain.sh L2SR SOURCE
set -u
scenes=$2/scenes
. "${0%/*}/setup.sh"

number() { sed -n "s/.*\"$1\":{\"mean\":\\([0-9.]*\\).*/\\1/p" out; }
run "phantom" "$l2sr" phantom data --train 1 --val 1 --test 1 --slices 2 --coils 3 --size 320 --rows 640 --columns 320
for setting in x8_base x8_long x16_base x16_long; do
  scene=$scenes/brain_$setting.yaml
  run "$setting by reconstruction_rss" "$l2sr" evaluate "$scene" --data data --set data.fraction=1 --json
  rss=$(number ssim) range=$(number psnr)
  what=$setting
  says out '"lines":256'
  run "$setting by k-space" "$l2sr" evaluate "$scene" --data data --set data.fraction=1 --set data.source=kspace --json
  tried=$((tried + 1))
  awk "BEGIN { d = $rss - $(number ssim); e = $range - $(number psnr); exit !(d * d < 1e-8 && e * e < 1e-4) }" ||
    complain "$setting: k-space gives SSIM $(number ssim), reconstruction_rss $rss"
done
small='--set data.fraction=1 --set network.channels=2 --set policy.channels=2 --set policy.hidden=8 --set train.batch=1'
# shellcheck disable=SC2086
run "train at 256" "$l2sr" train "$scenes/brain_x16_base_l2s.yaml" --data data --output run $small --epochs 1 \
  --set learn.steps=16 --set learn.scans=2 --set learn.validations=1
run "evaluate its policy" "$l2sr" evaluate "$scenes/brain_x16_base.yaml" --data data --set data.fraction=1 \
  --samplers policy --policy run/policy_1/last.h5 --reconstructor run/reconstructor/best.h5

if [ -d "${L2SR_DATA:-}/brain/t1ce_256" ]; then
  run "measured images" "$l2sr" evaluate "$scenes/brain_x8_base.yaml" --data "$L2SR_DATA/brain/t1ce_256" \
    --set data.fraction=1 --set data.source=auto --set data.most=3 --json
  for source in reconstruction_rss kspace; do
    run "measured coils" "$l2sr" evaluate "$scenes/brain_x8_base.yaml" --data "$L2SR_DATA/kspace/multicoil" \
      --set data.fraction=1 --set data.source=$source --json
  done
else
  echo "not run: measured data (L2SR_DATA names no folder with brain/t1ce_256 and kspace/multicoil)"
fi
finish
