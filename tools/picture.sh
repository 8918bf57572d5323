#!/bin/sh
# picture.sh PAGE PNG - draw the timeline of a page of `hypar report` as docs/img/report-timeline.png is
# drawn: devices alone, without the section above it, 1280 x 900. Needs chromium.
set -e
page=$(mktemp --suffix=.html)
trap 'rm -f "$page"' EXIT
cp "$1" "$page"
cat >>"$page" <<'SCRIPT'
<script>
  document.getElementById("bound").style.display = "none";
  const rows = document.getElementById("timeline-rows");
  rows.value = "devices";
  rows.dispatchEvent(new Event("change"));
</script>
SCRIPT
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,900 \
    --screenshot="$2" "file://$page"
