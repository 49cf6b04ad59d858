import { describe, expect, it } from 'vitest';

import type { Page } from './browser.ts';
import { pageInBrowser, textOf } from './opened-page.ts';

const { opened, sim, api } = pageInBrowser();

const answered = textOf('#t-answer');

/** Chooses a request; its fields are filled in when this returns. */
async function choose(page: Page, name: string): Promise<void> {
  await page.value(`(() => {
    byId('t-route').value = ${JSON.stringify(name)};
    byId('t-route').dispatchEvent(new Event('change'));
  })()`);
  await page.until(`byId('try-form').ariaBusy !== 'true'`);
}

/** Gives a field another value, as somebody would who picks or types it. */
async function give(page: Page, field: string, value: string): Promise<void> {
  await page.value(`(() => {
    const input = byId('t-field-' + ${JSON.stringify(field)});
    input.value = ${JSON.stringify(value)};
    input.dispatchEvent(new Event('input', { bubbles: true }));
    input.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
}

/** Sends what is filled in, and waits for an answer with this status. */
async function send(page: Page, status: number | 'no answer' = 200): Promise<string> {
  await page.value(`(() => { byId('t-answer').replaceChildren(); byId('try-form').requestSubmit(); })()`);
  await page.until(`${answered}.includes('What changed in the world')`);
  const text = await page.value<string>(answered);
  expect(text).toMatch(new RegExp(`^${status}`));
  return text;
}

const body = (page: Page) => page.value<string>(`byId('t-body').value`).then((text) => JSON.parse(text) as object);

describe('try a request', () => {
  it('offers every route of the simulator', async () => {
    const page = await opened();
    const { publicRoutes } = await sim('GET', '/');

    const offered = await page.value<string[]>(`[...byId('t-route').options].map(({ value }) => value)`);

    expect(offered).toEqual(expect.arrayContaining(publicRoutes.map(({ method, path }: Route) => `${method} ${path}`)));
    expect(offered).toContain('PATCH /_sim/tokens/:id');
  });

  it('makes an app, a contact point, an alert, a protection and an activation, each as it is filled in', async () => {
    const page = await opened();

    await choose(page, 'POST /app');
    const app = await send(page);
    await choose(page, 'POST /app-env/alert');
    const lacks = await page.value<string>(textOf('#t-lacks'));
    await page.value(`document.querySelector('#t-lacks button').click()`);
    await page.until(`byId('t-route').value === 'POST /contact-point' && byId('t-body').value.includes('addresses')`);
    const point = await send(page);
    await choose(page, 'POST /app-env/alert');
    const alert = await send(page);
    await choose(page, 'POST /disaster-readiness/configure');
    const protection = await send(page);
    await sim('POST', '/clock/advance', { ms: 60_000 });
    await choose(page, 'POST /disaster-readiness/activate');
    const activation = await send(page);

    expect(app).toMatch(/app\.created app_\w+ by demo-admin in request 1 in acc_demo.*new app shop/s);
    expect(lacks).toContain('This needs a contact point, and there is none yet.');
    expect(point).toMatch(/contactPoint\.created.*new contact point On call/s);
    expect(alert).toMatch(/alert\.created.*new alert busy/s);
    expect(protection).toMatch(/"success": true.*new protection production/s);
    expect(activation).toMatch(/activation\.accepted.*changed protection production/s);
    expect(page.complaints).toEqual([]);
  });

  it('shows what a request changed in the world, and copies it as curl', async () => {
    const page = await opened();
    await choose(page, 'POST /app-env/deploy-image');

    const text = await send(page);
    const curl = await page.value<string>(textOf('#t-curl'));

    expect(text).toContain('status: running → updating');
    expect(text).toContain('image: registry.example/demo/web:1 → registry.example/demo/web:2');
    expect(curl).toMatch(/^curl -sS -X POST 'http:\/\/127\.0\.0\.1:\d+\/api\/public\/v1\/app-env\/deploy-image'/);
    expect(curl).toContain(`-H 'authorization: demo-admin' -H 'content-type: application/json'`);
    expect(curl).toContain(`-d '{"appEnvId":"env_web_prod","image":"registry.example/demo/web:2"}'`);
  });

  it('fills in anew what belongs to a choice, and keeps what somebody wrote', async () => {
    const page = await opened();
    await api('POST', '/contact-point', {
      accountId: 'acc_demo',
      name: 'Pager',
      type: 'email',
      config: { addresses: ['a@b'] },
    });
    await page.until(`${textOf('#point-list')}.includes('Pager')`);
    await choose(page, 'POST /app-env/alert');
    await page.until(`byId('t-body').value.includes('contactPointIds')`);

    await give(page, 'name', `it's slow`);
    await give(page, 'metric', 'ingress_p95_latency');
    await page.until(`JSON.parse(byId('t-body').value).threshold === 2`);
    await page.value(
      `(() => { byId('t-more').value = 'description'; byId('t-more').dispatchEvent(new Event('change')); })()`,
    );
    await give(page, 'description', 'told by the page');

    expect(await body(page)).toMatchObject({
      name: `it's slow`,
      metric: 'ingress_p95_latency',
      description: 'told by the page',
    });
    expect(await page.value(textOf('#t-curl'))).toContain(`it'\\''s slow`);
    await page.value(`document.querySelector('[data-act="drop description"]').click()`);
    expect(await body(page)).not.toHaveProperty('description');
    await send(page);
  });

  it('fills in from another world when there is one', async () => {
    const page = await opened();
    await choose(page, 'DELETE /app');
    expect(await page.value(`byId('t-field-appId').value`)).toBe('app_job');

    await sim('POST', '/reset', { world: 'empty' });

    await page.until(`${textOf('#t-lacks')}.includes('This needs an app')`);
    await page.until(`byId('t-token').value === ''`);
  });

  it('sends a body as it was written, also one that is no JSON', async () => {
    const page = await opened();
    await choose(page, 'POST /app');
    const write = (text: string) =>
      page.value(
        `(() => { byId('t-body').value = ${JSON.stringify(text)}; byId('t-body').dispatchEvent(new Event('input')); })()`,
      );

    await write('{"accountId": ');
    expect(await page.value(textOf('#t-note'))).toContain('not JSON');
    const broken = await send(page, 400);
    await write('{"accountId": "acc_demo", "name": "own", "port": 1}');
    const fields = await page.value<string[]>(
      `[...document.querySelectorAll('#t-fields [data-field]')].map(({ value }) => value)`,
    );
    const own = await send(page);

    expect(broken).toContain('Nothing was committed.');
    expect(fields).toEqual(['acc_demo', 'own', '1']);
    expect(own).toContain('new app own');
  });

  it('sends as another token, and as none', async () => {
    const page = await opened();
    await choose(page, 'POST /app');
    const as = (token: string) =>
      page.value(
        `(() => { byId('t-token').value = '${token}'; byId('t-token').dispatchEvent(new Event('change')); })()`,
      );

    await as('demo-readonly');
    await page.until(`${textOf('#t-curl')}.includes('demo-readonly')`);
    const readonly = await send(page, 403);
    await as('');
    await page.until(`!${textOf('#t-curl')}.includes('authorization')`);
    const nobody = await send(page, 401);

    expect(readonly).toContain('svc:write:config');
    expect(nobody).toContain('user not authenticated');
  });

  it('tells a fault that struck, what was committed behind it, and gives up waiting', async () => {
    const page = await opened();
    await sim('POST', '/faults', { match: { path: '/app' }, effect: { dropAfter: true } });
    await choose(page, 'POST /app');
    const dropped = await send(page, 'no answer');
    await sim('POST', '/faults', { match: { path: '/apps' }, effect: { hang: true } });
    await choose(page, 'GET /apps');
    await page.value(`byId('try-form').requestSubmit()`);
    await page.until(`${textOf('#t-send')} === 'Give up' && ${textOf('#fault-list')}.includes('None')`);
    await page.value(`byId('try-form').requestSubmit()`);
    await page.until(`${answered}.includes('You gave up waiting')`);

    expect(dropped).toMatch(/^no answer.*fault: dropAfter.*The connection broke.*app\.created.*new app shop/s);
    expect(await page.value(textOf('#t-send'))).toBe('Send');
    // The browser did not send it again by itself.
    expect((await api('GET', '/apps')).apps.filter(({ name }: { name: string }) => name === 'shop')).toHaveLength(1);
  });

  it('opens the control surface from the menu of a row, with the keyboard', async () => {
    const page = await opened();

    await page.value(`document.querySelector('[data-key="account acc_demo"] button').focus()`);
    await page.press('Enter');
    await page.until(`byId('menu').matches(':popover-open')`);
    await page.press('Escape');
    expect(await page.value(`document.activeElement.getAttribute('aria-label')`)).toBe('Actions for Demo');
    await page.press('Enter');
    for (let n = 0; n < 4; n += 1) await page.press('ArrowDown');
    expect(await page.value('document.activeElement.textContent')).toBe('Change the account…');
    await page.press('Enter');
    await page.until(`byId('t-route').value === 'PATCH /_sim/accounts/:id' && byId('t-field-memberEnvAccess')`);
    await give(page, 'memberEnvAccess', 'true');
    const text = await send(page);

    expect(text).toContain('memberEnvAccess: false → true');
    await page.until(`${textOf('#tree')}.includes('member access on')`);
    expect(page.complaints).toEqual([]);
  });

  it('changes the status of an environment, deployments of a contact point, a token and what a deletion runs into', async () => {
    const page = await opened();
    const config = { addresses: ['a@example.com'] };
    await api('POST', '/contact-point', { accountId: 'acc_demo', name: 'Pager', type: 'email', config });

    await choose(page, 'PATCH /_sim/environments/:id');
    await page.until(`byId('t-field-status')`);
    await give(page, 'status', 'stopped');
    const environment = await send(page);
    await choose(page, 'PATCH /_sim/contact-points/:id');
    await page.until(`byId('t-field-deployedTo')`);
    await give(page, 'deployedTo', 'eu-west, us-east');
    const point = await send(page);
    await choose(page, 'PATCH /_sim/apps/:id');
    await page.until(`byId('t-field-sandboxTermination')`);
    await give(page, 'sandboxTermination', 'pending');
    const app = await send(page);
    await choose(page, 'POST /_sim/tokens');
    const token = await send(page);

    expect(environment).toMatch(/environment\.updated.*by control.*status: running → stopped/s);
    expect(point).toContain('regions: [] → ["eu-west","us-east"]');
    expect(app).toContain('sandboxTermination: done → pending');
    expect(token).toMatch(/new token new-member/);
    await page.until(`[...byId('t-token').options].some(({ value }) => value === 'new-member')`);
  });
});

interface Route {
  readonly method: string;
  readonly path: string;
}
