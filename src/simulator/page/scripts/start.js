// Starts the page in the browser.
import { prepareAlerts } from './alerts.js';
import { drawClock, prepareBench } from './bench.js';
import { byId, prepareMenu } from './base/elements.js';
import { prepareLogs } from './logs.js';
import { prepareRecovery } from './recovery.js';
import { prepareRequest } from './request/try.js';
import { redraw, view } from './base/state.js';
import { ask, follow, live, soon, sync } from './base/sync.js';
import { prepareWorld } from './world.js';

async function start() {
  live(false);
  prepareMenu();
  prepareWorld();
  prepareAlerts();
  prepareRecovery();
  prepareLogs();
  const [manual, forms] = await Promise.all([ask('GET', '/'), ask('GET', '/forms')]);
  prepareBench(manual, metricsIn(forms.items));
  await sync();
  prepareRequest(forms.items);
  follow();
}

/** Finds the names of all metrics, which are choices in the form that sets a metric. */
function metricsIn(forms) {
  const form = forms.find(({ method, path }) => method === 'POST' && path === '/_sim/metrics');
  return form.fields.find(({ name }) => name === 'metric').words;
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  redraw('time');
  soon();
});
setInterval(() => {
  if (!document.hidden && view.mode === 'real' && view.epoch !== '') drawClock();
}, 1000);
setInterval(() => {
  if (!document.hidden) soon();
}, 3000);
start().catch((error) => {
  byId('said').textContent = `The page could not start: ${error.message}`;
});
