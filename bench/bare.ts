/*
 * The least that polling costs on this machine: reads a list of alerts as often as the operator at rest sends requests,
 * at whole quarters of a second, and parses each answer. Nothing of the operator runs here; only undici, and V8 with the
 * operator's settings. `rest` starts it, and ends it.
 */
import { argv } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { keepSmall } from '../src/cli/keep-small.ts';

const tickMs = 250;
const [url = '', path = '', perMinute = ''] = argv.slice(2);
const perTick = Number(perMinute) / (60_000 / tickMs);

keepSmall();
const pool = new Pool(url, { connections: 16 });

async function ask(): Promise<void> {
  const { statusCode, body } = await pool.request({ method: 'GET', path, headers: { authorization: 'demo-admin' } });
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`GET ${path}: ${statusCode} ${text}`);
  JSON.parse(text);
}

let owed = 0;
for (;;) {
  const ticks = Math.max(1, Math.ceil((1 - owed) / perTick));
  await sleep(ticks * tickMs - (Date.now() % tickMs));
  for (owed += ticks * perTick; owed >= 1; owed -= 1) void ask();
}
