import { describe, expect, it } from 'vitest';
import { appEnvironment } from '../../src/kinds/app-environment.ts';
import type { JournalEntry, Memory } from '../../src/engine/kind/step.ts';
import type { Facts } from '../../src/kinds/schema/app-environment.ts';
import { byId, deployed, oneSent, shown, type Row } from './support/environments.ts';
import { aPass, callIn, inShort, print, settledStep } from './support/pass.ts';

const second: Partial<Memory<Facts>> = deployed(oneSent);
const spec2 = { ...byId, deploy: { image: 'r/x:2' } };
const startedAt = new Date(1_767_225_600_000).toISOString();

function entry(change: Partial<JournalEntry> = {}): JournalEntry {
  return {
    operation: 'deploy-image',
    attempt: 1,
    endpoint: 'api.example.com',
    accountId: 'acc_1',
    startedAt,
    deadlineSeconds: 30,
    digest: print([{ image: 'r/x:2' }, {}, false, '']),
    before: '100 running',
    ...change,
  };
}

const after = 1_767_225_601_000;
const late = {
  journalSeen: { monotonic: 10_000, wall: 1_767_225_600_000 },
  monotonicMs: 200_000,
  wallMs: 1_767_225_790_000,
};

const doubts: readonly Row[] = [
  {
    because: 'the list was read before the call',
    memory: { ...second, journal: entry() },
    shown: shown({}, 9_000),
    spec: spec2,
    comesTo: 'read appEnvs',
  },
  {
    because: 'nothing shows yet',
    memory: { ...second, journal: entry() },
    shown: shown({}, 10_000),
    spec: spec2,
    comesTo: 'wait InDoubt',
  },
  {
    because: 'it is being updated since',
    memory: { ...second, journal: entry() },
    shown: shown({ status: 'UPDATING', updatedAtMs: after }, 10_000),
    spec: spec2,
    comesTo: 'wait Updating',
  },
  {
    because: 'it was updated since and runs',
    memory: { ...second, journal: entry() },
    shown: shown({ updatedAtMs: after }, 10_000),
    spec: spec2,
    comesTo: 'ready InSync',
  },
  {
    because: 'it is being updated since before the call: not by us',
    memory: { ...second, journal: entry() },
    shown: shown({ status: 'UPDATING', updatedAtMs: 200 }, 10_000),
    spec: spec2,
    comesTo: 'wait InDoubt',
  },
  {
    because: 'nothing shows until the end: once more',
    memory: { ...second, journal: entry() },
    shown: shown({}, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'nothing shows after the second time: given up',
    memory: { ...second, journal: entry({ attempt: 2 }) },
    shown: shown({}, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'stall DeployInDoubt',
  },
  {
    because: 'it was given up, and redeploy-at asks again',
    memory: { ...second, journal: entry({ attempt: 2 }) },
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'b' } },
    shown: shown({}, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'something else is wanted by now',
    memory: { ...second, journal: entry({ attempt: 2 }) },
    shown: shown({}, 190_000),
    spec: { ...byId, deploy: { image: 'r/x:3' } },
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:3"}',
  },
  {
    because: 'it was taken back meanwhile, and shows that it was carried out',
    memory: { ...second, journal: entry() },
    shown: shown({ updatedAtMs: after }, 10_000),
    spec: { ...byId, deploy: { image: 'r/x:1' } },
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1"}',
  },
  {
    because: 'it was taken back meanwhile, and nothing shows that it was carried out',
    memory: { ...second, journal: entry() },
    shown: shown({}, 190_000),
    spec: { ...byId, deploy: { image: 'r/x:1' } },
    with: late,
    comesTo: 'ready InSync',
  },
  {
    because: 'it is to be stopped by now',
    memory: { ...second, journal: entry() },
    shown: shown({}, 190_000),
    spec: { ...spec2, powerState: 'Stopped' },
    with: late,
    comesTo: 'POST /app-env/stop {"appEnvId":"env_1"}',
  },
  {
    because: 'the service shows a word that nobody knows',
    memory: { ...second, journal: entry() },
    shown: shown({ status: 'DEGRADED' }, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'wait UnknownRemoteStatus',
  },
  {
    because: 'a redeployment was given up, and another image is wanted by now',
    memory: { ...second, journal: entry({ operation: 'redeploy', attempt: 2, digest: print('b') }) },
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'b' } },
    shown: shown({}, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
];

describe('what a deployment carries whose answer was lost', () => {
  const spec = { ...spec2, env: [{ name: 'A', value: '2' }], startup: { command: 'new' } };
  const before = deployed({ ...oneSent, 'env.A': '1' });
  const call = callIn(settledStep(appEnvironment, { spec, memory: before, shown: shown() }));
  const memory = { ...before, ...call.meanwhile, journal: { ...entry(), ...call.journal } };
  const first = { ...byId, deploy: { image: 'r/x:1' } };
  const image1 = 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1"';

  it.each([
    ['a variable', [{ name: 'A', value: '1' }], `${image1},"envVars":{"A":"1"},"clearStartupConfig":true}`],
    ['the startup override', [], `${image1},"clearStartupConfig":true}`],
  ])('is taken back with it: %s', (_what, env, comesTo) => {
    const step = settledStep(appEnvironment, {
      spec: { ...first, env },
      memory,
      shown: shown({ updatedAtMs: after }, 10_000),
    });

    expect(inShort(step)).toBe(comesTo);
  });

  it.each([
    [1, 'was not sent', 'ready InSync'],
    [2, 'may have been kept from the one before', `${image1},"envVars":{"A":"1"},"clearStartupConfig":true}`],
  ])('of which attempt %s is answered with a conflict %s', (attempt, _what, comesTo) => {
    const step = settledStep(appEnvironment, {
      spec: { ...first, env: [{ name: 'A', value: '1' }] },
      memory: { ...memory, journal: { ...memory.journal, attempt, conflicted: 'busy' } },
      shown: shown({}, 190_000),
      with: late,
    });

    expect(inShort(step)).toBe(comesTo);
  });

  it('is left over where nothing takes it back', () => {
    const { leftover } = appEnvironment.show(aPass(appEnvironment, { spec: first, memory, shown: shown() }));

    expect(leftover).toEqual(['env.A']);
  });

  it('counts as sent once it shows that it was carried out', () => {
    const step = settledStep(appEnvironment, { spec, memory, shown: shown({ updatedAtMs: after }, 10_000) });

    expect(inShort(step)).toBe('ready InSync');
  });

  it('goes along when it is sent once more', () => {
    const step = settledStep(appEnvironment, { spec, memory, shown: shown({}, 190_000), with: late });

    expect(callIn(step).request.body).toEqual(call.request.body);
  });
});

describe('an environment', () => {
  it.each(doubts)('is not deployed to twice in doubt: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });

  it('writes down before a deployment how the environment looked', () => {
    const call = callIn(settledStep(appEnvironment, { spec: spec2, memory: second, shown: shown() }));

    expect(call.journal).toMatchObject({ operation: 'deploy-image', attempt: 1, before: '100 running' });
  });

  it('counts a deployment that was repeated after a doubt', () => {
    const call = callIn(
      settledStep(appEnvironment, {
        spec: spec2,
        memory: { ...second, journal: entry() },
        shown: shown({}, 190_000),
        with: late,
      }),
    );

    expect(call.committed({ success: true, contentId: 'c_3' })?.facts?.deploy).toMatchObject({
      revision: 'r/x:2',
      contentId: 'c_3',
      repeatedAfterDoubt: 1,
    });
  });
});
