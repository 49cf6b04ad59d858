import { describe, expect, it } from 'vitest';
import { Credential } from '../../src/hosting/credential.ts';
import type { Seen } from '../../src/hosting/wire/transport.ts';
import { appsOf } from '../../src/hosting/requests.ts';
import { collector, steadyEntropy } from './support/around.ts';
import { VirtualClock } from '../../src/cli/in-memory/virtual-clock.ts';

function answered(status: number, retryAfterMs?: number): Seen {
  const read = { body: {}, readable: true, empty: false, saysNo: false, digest: '' };
  return { was: 'answer', status, retryAfterMs, ...read, dateMs: undefined, message: `${status}` };
}

function opened() {
  const clock = new VirtualClock();
  const { metrics, lines } = collector();
  const credential = new Credential(clock, steadyEntropy(), metrics);
  credential.budget.join({ requestsPerSecond: 100, concurrency: 100 });
  let sent = 0;
  const service = { status: 200, retryAfterMs: undefined as number | undefined };
  const ask = (): Promise<Seen> =>
    credential.exchange(
      () => {
        sent += 1;
        return Promise.resolve(answered(service.status, service.retryAfterMs));
      },
      appsOf('acc').first,
      { urgency: 'edit' },
    );
  return { clock, credential, ask, service, lines, sent: () => sent };
}

describe('a credential', () => {
  it('is tried ever more rarely while the service refuses it', async () => {
    const { clock, credential, ask, service, sent } = opened();
    service.status = 401;

    for (let second = 0; second < 600; second += 1) {
      await ask();
      await ask();
      await clock.advance(1000);
    }

    expect(sent()).toBeLessThanOrEqual(10);
    expect(credential.unauthorizedSince).toBe(0);
    expect(await ask()).toMatchObject({ was: 'heldBack', why: 'unauthorized' });
  });

  it('lets only one find out whether it is good again, and tells when it is', async () => {
    const { clock, credential, ask, service, sent } = opened();
    const changes: (number | undefined)[] = [];
    credential.onChange(() => changes.push(credential.unauthorizedSince));
    service.status = 401;
    await ask();

    service.status = 200;
    await clock.advance(2000);
    const tries = [ask(), ask(), ask()];
    const first = (await Promise.all(tries)).map(({ was }) => was);

    expect(first).toEqual(['answer', 'heldBack', 'heldBack']);
    expect(sent()).toBe(2);
    expect(changes).toEqual([0, undefined]);
    expect(await ask()).toMatchObject({ was: 'answer' });
  });

  it('holds back even those who waited for their turn when it was refused', async () => {
    const { clock, credential, ask, service, sent } = opened();
    credential.budget.join({ requestsPerSecond: 1, concurrency: 1 });
    service.status = 401;

    const asked = Array.from({ length: 10 }, () => ask());
    await clock.advance(60_000);

    expect((await Promise.all(asked)).map(({ was }) => was)).toEqual(['answer', ...Array(9).fill('heldBack')]);
    expect(sent()).toBe(1);
  });

  it('is tried again 2 s after it was refused, however many requests were under way together', async () => {
    const clock = new VirtualClock();
    const credential = new Credential(clock, steadyEntropy(), collector().metrics);
    credential.budget.join({ requestsPerSecond: 100, concurrency: 100 });
    const answers = Array.from({ length: 20 }, () => Promise.withResolvers<Seen>());
    const asked = answers.map(({ promise }) =>
      credential.exchange(() => promise, appsOf('acc').first, { urgency: 'edit' }),
    );
    await clock.advance(0);

    for (const { resolve } of answers) resolve(answered(401));
    await Promise.all(asked);

    expect(credential.heldUntil()).toBe(clock.monotonic() + 2000);
  });

  it('is tried at once after its Secret was read again', async () => {
    const { credential, ask, service, sent } = opened();
    service.status = 401;
    await ask();

    credential.reopen();
    await ask();

    expect(sent()).toBe(2);
  });

  it.each([400, 403, 404, 409, 500])('is not refused by a %i', async (status) => {
    const { credential, ask, service } = opened();
    service.status = status;

    await ask();

    expect(credential.unauthorizedSince).toBeUndefined();
  });

  it('pauses everybody after a 429 and says until when', async () => {
    const { clock, credential, ask, service, sent } = opened();
    service.status = 429;
    service.retryAfterMs = 60_000;
    await ask();

    const next = await ask();

    expect(next).toMatchObject({ was: 'heldBack', why: 'throttled' });
    expect(sent()).toBe(1);
    expect(credential.heldUntil()).toBe(credential.budget.throttledUntil());
    await clock.advance(61_000);
    expect(credential.heldUntil()).toBeUndefined();
  });

  it('gives its place back when the transport throws', async () => {
    const clock = new VirtualClock();
    const credential = new Credential(clock, steadyEntropy(), collector().metrics);
    credential.budget.join({ requestsPerSecond: 100, concurrency: 1 });
    const failing = credential.exchange(() => Promise.reject(new Error('bug')), appsOf('a').first, { urgency: 'edit' });
    await expect(failing).rejects.toThrow('bug');

    const turn = await credential.budget.turn({ urgency: 'edit' });

    expect(turn.granted).toBe(true);
  });
});
