import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Listening, startSimulator } from '../../src/simulator/start.ts';
import type { Json } from './box.ts';
import { type Browser, findBrowser, type Page, startBrowser } from './browser.ts';

const program = findBrowser();
const hostile = '<img src=x onerror="window.harmed=true">';

let started: Listening;
let browser: Browser | undefined;

beforeAll(async () => {
  started = await startSimulator({ clock: 'virtual' });
  if (program !== undefined) browser = await startBrowser(program);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await started.close();
});

beforeEach(({ skip }) => {
  skip(program === undefined, 'there is no Chromium on PATH: the page was not tried in a browser');
});

/** The page, freshly opened on a fresh world. */
async function opened(): Promise<Page> {
  if (browser === undefined) throw new Error('the browser was not started');
  await sim('POST', '/reset', {});
  const { page } = browser;
  page.complaints.length = 0;
  await page.look({ width: 1440, height: 1000, scheme: 'light' });
  await page.open(started.url);
  await page.until(`${textOf('#live')} === 'Live'`);
  await page.until(`document.querySelectorAll('.env').length === 5`);
  return page;
}

async function send(path: string, method: string, body?: unknown): Promise<Json> {
  const answer = await fetch(`${started.url}${path}`, {
    method,
    headers: { authorization: 'demo-admin', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer.json();
}

const sim = (method: string, path: string, body?: unknown) => send(`/_sim${path}`, method, body);
const api = (method: string, path: string, body?: unknown) => send(`/api/public/v1${path}`, method, body);

async function makeAlert(name: string, contactPointNames: readonly string[]): Promise<void> {
  const config = { addresses: ['on-call@example.com'] };
  for (const each of contactPointNames) {
    await api('POST', '/contact-point', { accountId: 'acc_demo', name: each, type: 'email', config });
  }
  const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m' };
  await api('POST', '/app-env/alert', { envName: 'web-prod', name, ...rule, contactPointNames });
}

/** A protection that is ready, and the activation of its newest point. */
async function makeActivation(): Promise<void> {
  const account = { accountId: 'acc_demo' };
  const item = { sourceAppEnvId: 'env_web_prod', requestId: 'protect-1', expectedGeneration: 0 };
  const common = { destinationRegion: 'us-east', mode: 'cold' };
  const { items } = await api('POST', '/disaster-readiness/configure', { ...account, common, items: [item] });
  const [{ configurationId }] = items;
  await sim('POST', '/clock/advance', { ms: 60_000 });
  const points = await api('GET', `/disaster-readiness/points?accountId=acc_demo&configurationId=${configurationId}`);
  const [{ selectedOperationId, pointId, cutoffAt }] = points.items;
  await api('POST', '/disaster-readiness/activate', {
    ...account,
    configurationId,
    requestId: 'activate-1',
    expectedGeneration: points.generation,
    selectedOperationId,
    pointId,
    cutoffAt,
    target: { envName: 'recovered', createNewApp: false },
    writerSafetyAcknowledged: true,
  });
}

const textOf = (selector: string) => `(document.querySelector(${JSON.stringify(selector)})?.textContent ?? '')`;

describe('the page in a browser', () => {
  it('injects a fault with the keyboard alone, and marks the request that meets it', async () => {
    const page = await opened();

    await page.press('Tab');
    await page.press('Enter');
    await page.tabTo('#f-method');
    await page.type('POST');
    await page.tabTo('#f-path');
    await page.type('/contact-point');
    await page.tabTo('#f-effect');
    await page.type('commitT');
    await page.tabTo('#f-value');
    await page.tabTo('#inject');
    await page.press('Enter');
    await page.until(`${textOf('#fault-list')}.includes('commitThen 500')`);
    const { items } = await sim('GET', '/faults');
    await makeAlert('busy', ['On call']).catch(() => undefined);
    await page.until(`${textOf('.req.fault')}.includes('commitThen')`);

    expect(items).toMatchObject([
      { match: { method: 'POST', path: '/contact-point' }, effect: { commitThen: { status: 500 } } },
    ]);
    await page.until(`${textOf('#fault-list')}.includes('None')`);
    expect(await page.value(textOf('.req.fault'))).toContain('committed');
    expect(page.complaints).toEqual([]);
  });

  it('shows an alert firing when the clock is advanced with the keyboard', async () => {
    const page = await opened();
    await makeAlert('busy', ['On call']);
    await page.until(`document.querySelector('.alert')`);

    await page.tabTo('[data-act=metric]');
    await page.press('Enter');
    await page.type('95');
    await page.tabTo('#set-metric');
    await page.press('Enter');
    await page.until(`${textOf('.alert')}.includes('now 95')`);
    await page.tabTo('[data-act="15 s"]');
    await page.press('Space');
    await page.until(`${textOf('.alert .chip')} === 'Pending'`);
    await page.tabTo('[data-act="1 min"]');
    await page.press('Space');
    await page.until(`${textOf('.alert .chip')} === 'Firing'`);

    await page.until(`${textOf('#said')}.includes('Firing: busy')`);
    expect(await page.value(`document.querySelector('.strip svg').getAttribute('aria-label')`)).toMatch(
      /Pending at 00:00:15, Firing at 00:01:15/,
    );
    expect(await page.value(`document.activeElement.dataset.act`)).toBe('1 min');
    expect(page.complaints).toEqual([]);
  });

  it('takes an activation through its phases', async () => {
    const page = await opened();
    await makeActivation();
    const current = textOf('.steps [aria-current]');
    await page.until(`${current}.startsWith('queued')`);
    await page.tabTo('[data-act=next]');

    for (const phase of ['restoring', 'promoting', 'starting']) {
      await page.press('Enter');
      await page.until(`${current}.startsWith('${phase}')`);
      expect(await page.value(`document.activeElement.dataset.act`), phase).toBe('next');
    }
    await page.tabTo('[data-act=fail]');
    await page.press('Enter');
    await page.until(`${textOf('.protection')}.includes('next 1 step will fail')`);
    await page.value(`document.querySelector('[data-act=next]').focus()`);
    await page.press('Enter');
    await page.until(`${textOf('.steps')}.includes('1 failed step')`);
    await page.press('Enter');
    await page.until(`${textOf('.steps .good')}.startsWith('succeeded')`);

    await page.until(`${textOf('#tree')}.includes('recovered')`);
    expect(page.complaints).toEqual([]);
  });

  it('injects every effect there is', async () => {
    const page = await opened();
    const effects = await page.value<string[]>(`[...byId('f-effect').options].map(({ value }) => value)`);

    for (const [n, effect] of effects.entries()) {
      await page.value(`(() => {
        byId('f-effect').value = ${JSON.stringify(effect)};
        byId('f-effect').dispatchEvent(new Event('input', { bubbles: true }));
        byId('fault-form').requestSubmit();
      })()`);
      await page.until(`${textOf('#n-faults')} === '${n + 1}'`);
    }
    const { items } = await sim('GET', '/faults');

    expect(effects).toHaveLength(15);
    expect(items.map(({ effect }: Json) => Object.keys(effect)[0])).toEqual(effects);
    expect(page.complaints).toEqual([]);
  });

  it('sets metrics, takes regions down and changes readings', async () => {
    const page = await opened();
    const submit = (form: string, values: Readonly<Record<string, string>>) =>
      page.value(`(() => {
        for (const [id, value] of Object.entries(${JSON.stringify(values)})) byId(id).value = value;
        byId('${form}').requestSubmit();
      })()`);

    await submit('metric-form', { 'm-env': 'env_web_prod', 'm-metric': 'cpu_usage', 'm-kind': 'null' });
    await page.until(`tables.metrics.get('env_web_prod/cpu_usage')?.value === null`);
    await submit('metric-form', { 'm-kind': 'number', 'm-value': '7.5', 'm-pods': '5, 10' });
    await page.until(`tables.metrics.get('env_web_prod/cpu_usage').pods.length === 2`);
    await submit('metric-form', { 'm-env': 'env_none' });
    await page.until(`${textOf('#said')}.includes('Not done')`);
    await page.value(`document.querySelector('[data-key=eu-west] button').click()`);
    await page.until(`${textOf('[data-key=eu-west]')}.includes('down')`);
    await submit('reading-form', { 'r-name': 'deploy.ms', 'r-value': '5000' });
    await page.until(`${textOf('#reading-list')}.includes('deploy.ms5000')`);

    // The refused metric is the one complaint: the browser itself reports answers of 4xx.
    expect(page.complaints.filter((text) => !text.includes('status of 404'))).toEqual([]);
    expect(page.complaints).toHaveLength(1);
  });

  it('takes names as text, whatever is in them', async () => {
    const page = await opened();
    await sim('POST', '/accounts', { accountId: 'acc_hostile', name: hostile });
    await api('POST', '/app', { accountId: 'acc_demo', name: hostile, dockerPreset: 'CUSTOM' });
    await sim('POST', '/environments', { appId: 'app_web', name: hostile, region: 'eu-west', cliEnvName: 'hostile' });
    await makeAlert(hostile, [hostile]);
    await api('GET', `/app?appId=${encodeURIComponent(hostile)}`);
    await api('GET', `/${encodeURIComponent(hostile)}`);

    for (const part of ['#tree', '#alert-list', '#point-list', '#ledger-list']) {
      await page.until(`${textOf(part)}.includes('<img src=x ')`);
    }
    expect(await page.value(`document.querySelectorAll('img').length`)).toBe(0);
    expect(await page.value(`window.harmed === undefined`)).toBe(true);
    expect(page.complaints).toEqual([]);
  });

  it('starts over when the world is another one, and comes back to a stream that broke', async () => {
    const page = await opened();
    await makeAlert('busy', ['On call']);
    await page.until(`document.querySelectorAll('#ledger-list .led').length === 2`);

    await page.value(`stream.close(), stream.dispatchEvent(new Event('error'))`);
    await page.until(`${textOf('#live')} === 'Reconnecting'`);
    await page.until(`${textOf('#live')} === 'Live'`);
    await sim('POST', '/reset', { world: 'empty' });
    await page.until(`${textOf('#tree')}.includes('No accounts')`);

    await page.until(`document.querySelectorAll('.alert, .led, .req').length === 0`);
    expect(page.complaints).toEqual([]);
  });

  it('stays quick with ten thousand environments and a flood of requests', async () => {
    const page = await opened();
    const world = await sim('GET', '/world');
    const [like] = world.collections.environments;
    const [app] = world.collections.apps;
    for (let n = 0; n < 10_000; n += 1) {
      if (n % 4 === 0) world.collections.apps.push({ ...app, appId: `app_${n}`, name: `app ${n}`, slug: `app-${n}` });
      const names = { appEnvId: `env_${n}`, appId: `app_${n - (n % 4)}`, cliEnvName: `env-${n}`, slug: `env-${n}` };
      world.collections.environments.push({ ...like, ...names });
    }
    await sim('POST', '/reset', { world });
    await page.until(`${textOf('#world-sum')}.includes('10,005 environments')`);
    for (let n = 0; n < 8; n += 1)
      await Promise.all(Array.from({ length: 50 }, () => api('GET', '/app?appId=app_web')));
    await page.until(`${textOf('#n-requests')} === '400'`);

    expect(await page.value(`document.querySelectorAll('*').length`)).toBeLessThan(6000);
    expect(
      await page.value(`(() => { const from = performance.now(); drawWorld(); return performance.now() - from; })()`),
    ).toBeLessThan(5_000);
    await page.value(`byId('find').focus()`);
    await page.type('env-9999');
    await page.until(`document.querySelectorAll('.env').length === 1`);
    expect(page.complaints).toEqual([]);
  }, 240_000);

  it('fits light, dark and narrow windows without scrolling sideways', async () => {
    const page = await opened();
    await makeActivation();
    await makeAlert(`${hostile} ${'x'.repeat(22)}`, ['On call', 'Also on call']);
    await sim('POST', '/faults', { match: { path: '/apps' }, effect: { status: 503 } });
    await api('GET', '/apps').catch(() => undefined);
    await page.until(
      `document.querySelector('.alert') && document.querySelector('.steps') && document.querySelector('.req.fault')`,
    );
    const folder = join(tmpdir(), 'apphosting-page');
    await mkdir(folder, { recursive: true });
    const looks = [
      { width: 1440, height: 1000, scheme: 'light' },
      { width: 1440, height: 1000, scheme: 'dark' },
      { width: 390, height: 844, scheme: 'light' },
    ] as const;

    for (const look of looks) {
      await page.look(look);
      await page.picture(join(folder, `${look.width}-${look.scheme}.png`));
      const name = `${look.width} ${look.scheme}`;
      expect(await page.value(`document.documentElement.scrollWidth`), name).toBeLessThanOrEqual(look.width);
      const cut = `[...document.querySelectorAll('body *')].filter((node) => node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.outerHTML.slice(0, 80))`;
      expect(await page.value(cut), name).toEqual([]);
      expect(await page.value(unnamed), name).toEqual([]);
    }
    expect(page.complaints).toEqual([]);
  });
});

/** Controls that nobody can name: no label, no text, no words for screen readers. */
const unnamed = `[...document.querySelectorAll('button, input, select, textarea, a')]
  .filter((node) => node.checkVisibility() && !(node.textContent.trim() || node.getAttribute('aria-label') || node.labels?.[0]?.textContent.trim()))
  .map((node) => node.outerHTML)`;
