import { describe, expect, it } from 'vitest';
import type { Service, ServiceSettings, ListListener } from '../../src/engine/ports.ts';
import { appsOf, contactPointsOf, deleteContactPoint, postContactPoint } from '../../src/hosting/requests.ts';
import { Secret } from '../../src/base/json.ts';
import { MetricRegistry } from '../../src/telemetry/metrics.ts';
import { collector, hostingWith, serviceOf } from './support/around.ts';
import { answer, pathOf, scriptedWire, type Script } from './support/scripted-wire.ts';
import { settle, VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

const settings: ServiceSettings = {
  baseUrl: 'https://api.example.com/',
  token: new Secret('planted-token'),
  caBundle: undefined,
  accountId: 'acc',
  pollSeconds: 60,
  requestsPerSecond: 50,
  concurrency: 8,
};

const creation = postContactPoint({
  accountId: 'acc',
  name: 'n',
  type: 'webhook',
  config: { url: new Secret('https://planted.example/hook') },
});

function opened(script: Script) {
  const clock = new VirtualClock();
  const { log, metrics, lines } = collector();
  const { requests, wire } = scriptedWire(script);
  const hosting = hostingWith({ clock, log, metrics, wire });
  const open = (change: Partial<ServiceSettings> = {}, onList?: ListListener): Service =>
    serviceOf(hosting, { ...settings, ...change }, onList);
  return { clock, hosting, open, lines, requests };
}

/** The same, and the page of its metrics. */
function measured(script: Script) {
  const clock = new VirtualClock();
  const metrics = new MetricRegistry(false);
  const hosting = hostingWith({ clock, metrics, wire: scriptedWire(script).wire });
  const open = (name: string | undefined, token = 'planted-token'): Service =>
    serviceOf(hosting, { ...settings, token: new Secret(token), ...(name !== undefined && { name }) });
  const page = (): Promise<string> => {
    metrics.resetGauges();
    hosting.measure();
    return metrics.text();
  };
  return { clock, open, page };
}

const now = { urgency: 'edit', mayDispatch: () => undefined } as const;

describe('opening a service', () => {
  it.each([
    { change: { baseUrl: 'http://api.example.com' }, because: 'the base URL is not https' },
    { change: { baseUrl: 'https://169.254.169.254' }, because: 'the host is metadata' },
    { change: { baseUrl: 'nonsense' }, because: 'the base URL is none' },
  ])('is refused with a sentence when $because', ({ change }) => {
    const { hosting } = opened(() => answer(200, {}));

    const refusal = hosting.open({ ...settings, ...change }, () => undefined);

    expect('refused' in refusal ? refusal.refused : 'open').toMatch(/^the .* /);
  });

  it('forgives the newline that ends a Secret', async () => {
    const { open, requests } = opened(() => answer(200, {}));
    const service = open({ baseUrl: 'https://api.example.com\n', token: new Secret('planted-token\n') });

    await service.send(deleteContactPoint('c'), now);

    expect(requests[0]?.headers['authorization']).toBe('planted-token');
    expect(service.endpoint).toBe('api.example.com');
  });
});

describe('a service', () => {
  it('commits, and tells the time of the service', async () => {
    const date = 'Thu, 01 Jan 2026 00:00:10 GMT';
    const { open } = opened(() => answer(200, { contactPoint: { contactPointId: 'c' } }, { date }));

    const outcome = await open().send(creation, now);

    expect(outcome).toEqual({
      is: 'committed',
      body: { contactPoint: { contactPointId: 'c' } },
      dateMs: Date.UTC(2026, 0, 1, 0, 0, 10),
    });
  });

  it('asks whether it may and does, in one tick', async () => {
    const order: string[] = [];
    const { open } = opened(() => {
      order.push('bytes');
      return answer(200, {});
    });

    await open().send(creation, {
      urgency: 'edit',
      mayDispatch: () => {
        order.push('may I?');
        return undefined;
      },
    });

    expect(order).toEqual(['may I?', 'bytes']);
  });

  it('says how long to wait after a 429, to whoever asks next as well', async () => {
    const { open, requests } = opened(() => answer(429, {}, { 'retry-after': '60' }));
    const service = open();

    const first = await service.send(creation, now);
    const second = await service.send(creation, now);

    for (const outcome of [first, second]) {
      expect(outcome).toMatchObject({ is: 'notExecuted', why: 'throttled' });
      expect(outcome.is === 'notExecuted' ? outcome.retryInMs : 0).toBeGreaterThanOrEqual(60_000);
    }
    expect(requests).toHaveLength(1);
    expect(service.health().throttledUntil).toBeGreaterThan(0);
  });

  it('shares budget and refusal with every account on the same token and origin, and with no other', async () => {
    const { open } = opened((request) => answer(request.headers['authorization'] === 'planted-token' ? 401 : 200, {}));
    const [one, same, other] = [open(), open({ accountId: 'b' }), open({ token: new Secret('another') })];

    await one.send(deleteContactPoint('c'), now);

    expect(same.health().unauthorizedSince).toBe(0);
    expect(other.health().unauthorizedSince).toBeUndefined();
  });

  it('tries again at once when it is opened anew', async () => {
    const { open, requests } = opened(() => answer(401, {}));
    const service = open();
    await service.send(deleteContactPoint('c'), now);
    await service.send(deleteContactPoint('c'), now);

    const again = open();
    await again.send(deleteContactPoint('c'), now);

    expect(requests).toHaveLength(2);
  });

  it('lets a write under way end before it closes, and lets nothing else begin', async () => {
    const clockHolder: VirtualClock[] = [];
    const { clock, open, requests } = opened(async () => {
      await new Promise<void>((resolve) => {
        clockHolder[0]?.after(1000, resolve);
      });
      return answer(200, { contactPoint: { contactPointId: 'c' } });
    });
    clockHolder.push(clock);
    const service = open();
    service.follow(contactPointsOf('acc'));
    const writing = service.send(creation, now);
    await settle();

    const closing = service.close();
    const late = service.send(creation, now);
    await clock.advance(1000);
    await closing;

    expect(await writing).toMatchObject({ is: 'committed' });
    expect(await late).toMatchObject({ is: 'notSent' });
    expect(requests.map(pathOf)).toEqual(['/contact-points', '/contact-point']);
  });

  it('measures itself by names that the telemetry knows, and lets go of them', async () => {
    const { clock, open, page } = measured(() => answer(429, {}, { 'retry-after': '1' }));
    const service = open('team/default');
    service.follow(appsOf('acc'));
    await clock.advance(60_000);
    const whileOpen = await page();

    await service.close();

    expect(whileOpen).toMatch(/apphosting_mirror_lists_total\{collection="apps",result="throttled"\} [1-9]/);
    expect(whileOpen).toContain('apphosting_budget_waiting{account="team/default"}');
    expect(await page()).not.toContain('account=');
  });

  it('is measured anew by the one that takes its place, which states only what is true of itself', async () => {
    const { clock, open, page } = measured(() => answer(200, { apps: [], contactPoints: [] }));
    const agesStated = async () => (await page()).match(/apphosting_mirror_age_seconds\{.*collection="(.*)"/g);
    const old = open('team/default', 'the old token');
    old.follow(contactPointsOf('acc'));
    await clock.advance(60_000);

    const anew = open('team/default', 'another token');
    await clock.advance(16_000);
    anew.follow(appsOf('acc'));
    await old.close();

    await clock.advance(16_000);
    expect(await agesStated()).toEqual([expect.stringContaining('collection="apps"')]);
    await anew.close();
    expect(await page()).not.toContain('account=');
  });

  it('is measured by the name of its resource: two resources for one account do not write over each other', async () => {
    const { clock, open, page } = measured(() => answer(200, { apps: [] }));
    for (const name of ['blue/default', 'red/default', undefined]) {
      const service = open(name);
      if (name !== 'red/default') service.follow(appsOf('acc'));
    }

    await clock.advance(60_000);

    const text = await page();
    expect(text.match(/apphosting_mirror_age_seconds\{.*\}/g)).toEqual([
      'apphosting_mirror_age_seconds{account="blue/default",collection="apps"}',
    ]);
    expect(text.match(/apphosting_budget_waiting\{.*\}/g)).toHaveLength(2);
    // One list a minute each of blue and of the one without a name, which share the budget of their token.
    expect(text).toMatch(/apphosting_budget_used_requests_per_second\{account="red\/default"\} 0(\.\d+)?\n/);
    expect(text).toContain('apphosting_forecast_requests_per_hour{account="blue/default"} 60\n');
    expect(text).toContain('apphosting_forecast_requests_per_hour{account="red/default"} 0\n');
  });

  it('shows texts without the credential, and without what steers a terminal; ids and names stay', async () => {
    const { open } = opened(() => answer(200, {}));
    const service = open();
    const facts = { appId: 'planted-token', name: 'soft\u00ADhyphen', list: [{ reason: 'bad planted-token' }] };
    const untouched = { name: 'nothing', list: [1, null, 'x'] };

    expect(service.shown('no\u001b[31m planted-token \u202Eyes')).toBe('no\\u{1b}[31m [credential] \\u{202e}yes');
    expect(service.shown(facts)).toEqual({ ...facts, list: [{ reason: 'bad [credential]' }] });
    expect(service.shown(untouched)).toEqual(untouched);
    await service.close();
  });

  it('plants no secret anywhere, whatever the service answers', async () => {
    const echo = 'planted-token https://planted.example/hook';
    const bodies = [
      { error: echo },
      { message: echo },
      { error: { message: echo } },
      echo,
      { error: 'x', details: echo },
    ];
    for (const status of [200, 301, 400, 401, 403, 404, 409, 422, 429, 500]) {
      for (const body of bodies) {
        const { clock, open, lines } = opened(() => answer(status, body, { location: 'https://planted.example/hook' }));
        const service = open({}, (event) => lines.push(JSON.stringify(event.problem)));
        service.follow(appsOf('acc'));
        await clock.advance(1000);

        const sending = service.send(creation, now);
        await clock.advance(5000);
        const outcome = await sending;

        // The body itself is the engine's to read; what people see is the message.
        const told = 'message' in outcome ? outcome.message : '';
        expect(`${told} ${lines.join(' ')} ${JSON.stringify(service.problem(appsOf('acc')))}`).not.toContain('planted');
        await service.close();
      }
    }
  });
});
