import { describe, expect, it } from 'vitest';
import type { JournalEntry, Step } from '../../src/engine/kind/contract/step.ts';
import { contactPointsOf } from '../../src/hosting/requests.ts';
import { contactPoint } from '../../src/kinds/contact-point/contact-point.ts';
import { InProcess } from '../support/in-process.ts';
import { aPass, shows } from './support/pass.ts';

const mail = { email: { addresses: ['a@example.com'] } };

/** A contact point to create, beside others of its name that belong to other resources. */
function besideOthers(count: number): Step<unknown> {
  const contactPoints = Array.from({ length: count }, (_, at) => ({
    contactPointId: `cp_${at}`,
    name: 'on-call',
    type: 'email',
    accountId: 'acc_1',
  }));
  const claimant = () => ({ name: 'ContactPoint other/on-call', goesFirst: true });
  const read = contactPointsOf('acc_1');
  const shown = [shows(read, read.items({ contactPoints }) ?? [])];
  return contactPoint.step(aPass(contactPoint, { spec: { ...mail, name: 'on-call' }, shown, claimant }));
}

function journalOf(step: Step<unknown>): Partial<JournalEntry> {
  return (step.is === 'call' ? step.call.journal : undefined) ?? {};
}

async function manyOfOneName(count: number): Promise<{ readonly perObject: number; readonly seconds: number }> {
  const world = new InProcess();
  await world.start();
  world.secret('shared', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin' }, 'apphosting-system');
  const names = Array.from({ length: count }, (_, at) => `ns-${at}`);
  const budget = { requestsPerSecond: 200, concurrency: 16 };
  const account = { externalId: 'acc_demo', credentialsRef: { name: 'shared' }, allowedNamespaces: { names }, budget };
  world.apply('ClusterHostingAccount', 'shared', account);
  await world.run(10_000);
  const accountRef = { kind: 'ClusterHostingAccount', name: 'shared' };
  for (const within of names) world.apply('ContactPoint', 'on-call', { ...mail, accountRef }, {}, within);

  let seconds = 0;
  const hasId = (within: string) =>
    JSON.stringify(world.get('ContactPoint', 'on-call', within)?.status ?? {}).includes('"cp_');
  while (seconds < 3_600 && !names.every(hasId)) {
    await world.run(1_000);
    seconds += 1;
  }
  await world.run(120_000);
  const writes = world.kube.calls.filter(
    ({ verb, plural }) => plural === 'contactpoints' && !['get', 'list', 'watch'].includes(verb),
  );
  expect(world.sent).toHaveLength(count);
  return { perObject: writes.length / count, seconds };
}

describe('resources of one name in one account', () => {
  it.each([10, 40])('cost each the same few writes to Kubernetes, with %s of them', async (count) => {
    const { perObject, seconds } = await manyOfOneName(count);

    expect(perObject).toBeLessThanOrEqual(6);
    expect(seconds).toBeLessThanOrEqual(3 * count);
  });

  it.each([3, 1_002])('are created beside %s others, and no more ids are written down than a status holds', (count) => {
    const { create } = journalOf(besideOthers(count));

    expect(create?.excluded).toHaveLength(Math.min(count, 1_000));
  });
});
