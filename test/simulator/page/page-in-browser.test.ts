import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import type { Json } from '../box.ts';
import type { Page } from './browser.ts';
import { pageInBrowser, textOf } from './opened-page.ts';

const { opened, sim, api } = pageInBrowser();
const hostile = '<img src=x onerror="window.harmed=true">';

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
    target: { envName: 'production-recovered', createNewApp: false },
    writerSafetyAcknowledged: true,
  });
}

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

  it('says that a step failed when it did, and shows so in the tree', async () => {
    const page = await opened();
    await makeActivation();
    await page.until(`${textOf('.op .what')}.startsWith('Activation')`);
    const press = (act: string) => page.value(`document.querySelector('[data-act=${act}]').click()`);

    await press('next');
    await page.until(`${textOf('#said')}.includes('One step done: restoring')`);
    await press('fail');
    await page.until(`${textOf('.protection')}.includes('next 1 step will fail')`);
    await press('next');
    await page.until(`${textOf('#said')}.includes('One step failed')`);

    await page.until(`${textOf('#tree')}.includes('activation: 1 failed step')`);
    expect(page.complaints).toEqual([]);
  });

  it('names tokens, counts a paused alert as paused, and tells control from what happens by itself', async () => {
    const page = await opened();
    await makeAlert('busy', ['On call']);
    await sim('PATCH', '/environments/env_web_prod', { preventDestroy: true });
    const { alerts } = await api('GET', '/app-env/alerts?appEnvId=env_web_prod');
    await api('POST', '/alert/toggle', { alertId: alerts[0].alertId, enabled: false });
    await sim('POST', '/clock/advance', { ms: 5000 });

    await page.until(`${textOf('#alert-sum')} === '1 Paused'`);
    await page.until(`${textOf('#point-list')}.includes('deployed in eu-west')`);
    const members = await page.value<string[]>(
      `[...document.querySelectorAll('.member')].map((node) => node.innerText)`,
    );
    expect(members).toHaveLength(6);
    expect(members[1]).toMatch(/^demo-admin-no-secrets\s+admin, Manage Members$/);
    expect(members[4]).toMatch(/^demo-environment\s+admin, environment token$/);
    expect(await page.value(textOf('#ledger-list'))).toContain(
      'environment.updated env_web_prod by control in acc_demo',
    );
    expect(page.complaints).toEqual([]);
  });

  it('says in whole sentences what happens at nearly the same time', async () => {
    const page = await opened();

    await page.value(`Array.from({ length: 12 }, (_, n) => say('Thing ' + n + ' of twelve has happened'))`);

    expect(await page.value(textOf('#said'))).toMatch(/^(Thing \d+ of twelve has happened(\. |$))+$/);
    expect(await page.value(textOf('#said'))).toContain('Thing 11');
  });

  it.each(['empty', 'demo'])('leaves nothing alone, cut or void at any width in the %s world', async (world) => {
    const page = await opened();
    await sim('POST', '/reset', { world });
    await page.until(`${textOf('#n-environments')} === '${world === 'empty' ? 0 : 5}'`);

    for (const width of widths) {
      await page.look({ width, height: 1000, scheme: 'light' });
      expect(await mistakesOn(page), String(width)).toEqual([]);
    }
  });

  it('keeps few elements of a thousand environments and five thousand alerts, and redraws what one event changed', async () => {
    const page = await opened();
    await makeAlert('busy', ['On call']);
    const world = await sim('GET', '/world');
    const [environment] = world.collections.environments;
    const [rule] = world.collections.alerts;
    for (let n = 0; n < 1000; n += 1) {
      const names = { appEnvId: `env_${n}`, cliEnvName: `web-${n}`, slug: `web-${n}`, name: `number ${n}` };
      world.collections.environments.push({ ...environment, ...names });
    }
    for (let n = 0; n < 5000; n += 1) {
      world.collections.alerts.push({ ...rule, alertId: `alert_${n}`, appEnvId: `env_${n % 1000}`, name: `rule ${n}` });
    }
    await sim('POST', '/reset', { world });
    await page.until(`${textOf('#n-alerts')} === '5,001' && ${textOf('#n-environments')} === '1,005'`);

    await page.value(`(() => {
      window.added = [];
      const watch = (list) => list.forEach(({ addedNodes }) => added.push(...[...addedNodes].map((node) => node.className)));
      const options = { subtree: true, childList: true };
      for (const id of ['tree', 'alert-box', 'point-box']) new MutationObserver(watch).observe(byId(id), options);
    })()`);
    await api('POST', '/app-env/stop', { appEnvId: 'env_3' });
    await page.until(`${textOf('[data-key="env env_3"]')}.startsWith('updating')`);

    expect(await page.value('window.added')).toEqual(['row env']);
    expect(await page.value(`document.querySelectorAll('*').length`)).toBeLessThan(3000);
    await page.value(`byId('tree').scrollTop = byId('tree').scrollHeight`);
    await page.until(`${textOf('#tree-list')}.includes('demo-foreign')`);
    await page.value(`byId('alert-box').scrollTop = byId('alert-box').scrollHeight`);
    await page.until(`${textOf('#alert-list')}.includes('rule 4999')`);
    const place = `document.querySelector('#alert-list > :last-child')`;
    expect(await page.value(`[${place}.ariaPosInSet, ${place}.ariaSetSize]`)).toEqual(['5001', '5001']);
    await page.value(`document.querySelectorAll('.box').forEach((box) => (box.scrollTop = 0))`);
    for (const width of widths) {
      await page.look({ width, height: 1000, scheme: 'light' });
      expect(await mistakesOn(page), String(width)).toEqual([]);
    }
    expect(page.complaints).toEqual([]);
  });

  it('fits each width in light and dark without scrolling sideways, and keeps the header and the way to the bench', async () => {
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
    const looks = widths.flatMap((width) =>
      (['light', 'dark'] as const).map((scheme) => ({ width, height: width === 390 ? 844 : 1000, scheme })),
    );

    for (const look of looks) {
      await page.look(look);
      await page.picture(join(folder, `${look.width}-${look.scheme}.png`));
      const name = `${look.width} ${look.scheme}`;
      expect(await page.value(`document.documentElement.scrollWidth`), name).toBeLessThanOrEqual(look.width);
      const cut = `[...document.querySelectorAll('body *')].filter((node) => node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.outerHTML.slice(0, 80))`;
      expect(await page.value(cut), name).toEqual([]);
      expect(await page.value(unnamed), name).toEqual([]);
      expect(await mistakesOn(page), name).toEqual([]);
      await page.value(`scrollTo(0, 3000)`);
      expect(await page.value(atHand), name).toBe(true);
      await page.value(`scrollTo(0, 0)`);
    }
    expect(page.complaints).toEqual([]);
  });
});

/** The mistakes of the layout that stay once the page had a moment to fit into its width. */
async function mistakesOn(page: Page): Promise<readonly string[]> {
  await page.until(`${misplaced}.length === 0`, 3000).catch(() => undefined);
  return page.value(misplaced);
}

const widths = [390, 768, 1400, 1920];

/**
 * The mistakes of the layout: a short item that wrapped alone under a line of several, the end of a text that stands alone under what it began
 * beside, a short text squeezed into three rows, a text that is cut, a list that ends within a row, and a column that ends above the one
 * beside it.
 */
const misplaced = `(() => {
  const mistakes = [];
  const about = (what, node) => mistakes.push(what + ': ' + (node.id || node.className) + ' ' + node.textContent.slice(0, 60));
  const isSeen = (node) => node.checkVisibility() && !node.closest('.gone, .skip, svg');
  for (const line of document.querySelectorAll('.line, .sub, .head')) {
    if (!isSeen(line)) continue;
    const rows = Map.groupBy([...line.children].filter(isSeen), (node) => {
      const { top, bottom } = node.getBoundingClientRect();
      return Math.round((top + bottom) / 24);
    });
    const [last, before = []] = [...rows].sort(([a], [b]) => b - a).map(([, nodes]) => nodes.map((node) => node.offsetWidth));
    const sum = (sizes) => sizes.reduce((a, b) => a + b, 0);
    if (last?.length === 1 && before.length > 1 && sum(last) < 0.7 * sum(before)) about('alone', line);
  }
  for (const node of document.querySelectorAll('main span')) {
    if (!isSeen(node) || node.closest('.path')) continue;
    const pieces = [...node.getClientRects()];
    if (pieces.length > 1 && pieces.at(-1).width < 0.3 * node.parentElement.clientWidth) about('alone', node);
    const text = document.createRange();
    text.selectNodeContents(node);
    const rows = new Set([...text.getClientRects()].map(({ top }) => Math.round(top)));
    if (rows.size > 2 && node.children.length === 0 && node.textContent.length < 60) about('squeezed', node);
  }
  for (const node of document.querySelectorAll('main *, aside *, header *')) {
    const isFree = node.matches('h1, select, input, textarea, .box, pre') || node.closest('.lane, select') || getComputedStyle(node).overflowX === 'visible';
    if (!isFree && isSeen(node) && node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0) about('cut', node);
  }
  for (const box of document.querySelectorAll('.box')) {
    if (box.scrollHeight <= box.clientHeight + 1 || box.scrollTop > 0) continue;
    const { bottom } = box.getBoundingClientRect();
    const ends = [...box.firstElementChild.children].map((node) => node.getBoundingClientRect().bottom);
    if (!ends.some((end) => Math.abs(end - bottom) <= 1)) about('ends within a row', box);
  }
  const end = (id) => byId(id).getBoundingClientRect().bottom;
  if (innerWidth >= 900 && Math.abs(end('left') - end('right')) > 1) about('void', byId('left'));
  for (const id of ['left', 'right']) {
    if (Math.abs(byId(id).lastElementChild.getBoundingClientRect().bottom - end(id)) > 1) about('void', byId(id));
  }
  return mistakes;
})()`;

/** Tells if the header is in sight with all its links, the one to the bench among them. */
const atHand = `(() => {
  const { top, right } = document.querySelector('nav a[href="#bench"]').getBoundingClientRect();
  const nav = document.querySelector('nav');
  const isWhole = nav.scrollWidth <= nav.clientWidth && document.querySelector('header').getBoundingClientRect().top === 0;
  return isWhole && top >= 0 && right <= innerWidth;
})()`;

/** Controls that nobody can name: no label, no text, no words for screen readers. */
const unnamed = `[...document.querySelectorAll('button, input, select, textarea, a')]
  .filter((node) => node.checkVisibility() && !(node.textContent.trim() || node.getAttribute('aria-label') || node.labels?.[0]?.textContent.trim()))
  .map((node) => node.outerHTML)`;
