import { describe, expect, it } from 'vitest';
import { appEnvironment } from '../../../src/kinds/app-environment/app-environment.ts';
import type { Call, JournalEntry, Memory } from '../../../src/engine/kind/contract/step.ts';
import type { AppEnvironmentFacts } from '../../../src/kinds/app-environment/schema.ts';
import { byId, deployed, fresh, list, oneSent, shown, type Row } from '../support/environments.ts';
import { aPass, callIn, inShort, fingerprint, settledStep, shows } from '../support/pass.ts';

const second: Partial<Memory<AppEnvironmentFacts>> = deployed(oneSent);
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
    digest: fingerprint([{ image: 'r/x:2' }, {}, false, '']),
    before: '100 running',
    ...change,
  };
}

type Sent = Partial<Memory<AppEnvironmentFacts>> & { readonly journal: JournalEntry };

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
    because: 'the list was refused since the call',
    memory: { ...second, journal: entry() },
    shown: shown({}, 9_000),
    problems: { [list.key]: { why: 'forbidden', message: 'no', at: 10_500 } },
    spec: spec2,
    with: { monotonicMs: 11_000 },
    comesTo: 'wait Forbidden',
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
    because: 'it was the first deployment, was edited meanwhile, and shows that it was carried out',
    memory: { id: 'env_1', ownership: 'Adopted', journal: entry() },
    shown: shown({ updatedAtMs: after }, 10_000),
    spec: { ...byId, deploy: { image: 'r/x:3' } },
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:3"}',
  },
  {
    because: 'it was known to be carried out while a Secret was missing, and is wanted as before',
    memory: {
      ...second,
      applied: { generation: 1, fingerprints: { lost: `carriedOut ${entry().digest}` } },
    },
    shown: shown({ updatedAtMs: after }, 10_000),
    spec: spec2,
    comesTo: 'ready InSync',
  },
  {
    because: 'it was lost once, then held up, and is sent once more',
    memory: { ...second, applied: { generation: 1, fingerprints: { lost: `once ${entry().digest}` } } },
    shown: shown({}, 190_000),
    spec: spec2,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'the key is lost of what is known of it',
    memory: {
      ...second,
      applied: { generation: 1, fingerprints: { lost: `twice 00000000:${entry().digest.split(':')[1]}` } },
    },
    shown: shown({}, 190_000),
    spec: spec2,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'it was lost twice',
    memory: { ...second, applied: { generation: 1, fingerprints: { lost: `twice ${entry().digest}` } } },
    shown: shown({}, 190_000),
    spec: spec2,
    comesTo: 'stall DeployInDoubt',
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
    memory: { ...second, journal: entry({ operation: 'redeploy', attempt: 2, digest: fingerprint('b') }) },
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'b' } },
    shown: shown({}, 190_000),
    spec: spec2,
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
];

describe('a deployment in doubt whose environment is gone', () => {
  const memory = { ...second, journal: entry() };
  const missed = { ...late, notes: { missedAt: 100_000 } };
  const options = { spec: spec2, memory, shown: [shows(list, [], 190_000)] };

  it('is looked for no more, and counts as lost once should the environment come back', () => {
    const step = settledStep(appEnvironment, { ...options, with: missed });

    expect(inShort(step)).toBe('wait EnvironmentNotFound');
    const remember = 'remember' in step ? step.remember : undefined;
    expect(remember).toEqual({
      journal: undefined,
      applied: expect.objectContaining({
        fingerprints: expect.objectContaining({ lost: `once ${entry().digest} ${entry().startedAt}` }),
      }),
    });
    const back = settledStep(appEnvironment, { spec: spec2, memory: { ...memory, ...remember }, shown: shown() });
    expect(inShort(back)).toContain('POST /app-env/deploy-image');
    expect(callIn(back).journal?.attempt).toBe(2);
  });

  it.each([
    ['it was missed only once', { with: late }, 'wait ObjectMissing'],
    ['nobody knows what the account shows', { with: missed, account: { frozen: 'frozen' } }, 'wait VisibilityLost'],
  ])('stays in doubt while %s', (_when, how, comesTo) => {
    const step = settledStep(appEnvironment, { ...options, ...how });

    expect(inShort(step)).toBe(comesTo);
    expect(step).not.toHaveProperty('remember');
  });
});

/** What is remembered while a call is under way. */
function sent(
  before: Partial<Memory<AppEnvironmentFacts>>,
  { whileInFlight, journal }: Call<AppEnvironmentFacts>,
): Sent {
  return { ...before, ...whileInFlight, journal: { ...entry(), ...journal } };
}

/** What is remembered when the call was answered with a conflict. */
function refused(memory: Sent): Sent {
  return { ...memory, journal: { ...memory.journal, conflicted: 'busy' } };
}

describe('what a deployment carries whose answer was lost', () => {
  const spec = { ...spec2, env: [{ name: 'A', value: '2' }], startupConfig: { command: 'new' } };
  const before = deployed({ ...oneSent, 'env.A': '1' });
  const call = callIn(settledStep(appEnvironment, { spec, memory: before, shown: shown() }));
  const memory = sent(before, call);
  const again = sent(
    memory,
    callIn(settledStep(appEnvironment, { spec, memory, shown: shown({}, 190_000), with: late })),
  );
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
    ['only', memory, 'was not sent', 'ready InSync'],
    [
      'second',
      again,
      'may have been kept from the one before',
      `${image1},"envVars":{"A":"1"},"clearStartupConfig":true}`,
    ],
  ])('of which the %s attempt is answered with a conflict %s', (_which, sent, _what, comesTo) => {
    const step = settledStep(appEnvironment, {
      spec: { ...first, env: [{ name: 'A', value: '1' }] },
      memory: refused(sent),
      shown: shown({}, 190_000),
      with: late,
    });

    expect(inShort(step)).toBe(comesTo);
  });

  it.each([
    ['a roll-back', { ...byId, deploy: { rollbackContentId: 'c_1' } }, {}],
    ['a redeployment', { ...spec2, env: [{ name: 'A', value: '1' }] }, { 'apphosting.dev/redeploy-at': 'b' }],
    ['another deployment', { ...byId, deploy: { image: 'r/x:3' }, env: [{ name: 'A', value: '3' }] }, {}],
  ])('stays in doubt after it was given up though %s is answered with a conflict', (_what, next, annotations) => {
    const options = { shown: shown({}, 190_000), with: late };
    const lost = appEnvironment.step(aPass(appEnvironment, { ...options, spec, memory: again }));
    const givenUp = { ...again, ...('remember' in lost && lost.remember) };
    const another = callIn(
      settledStep(appEnvironment, { ...options, spec: next, memory: givenUp, subject: { annotations } }),
    );
    const taken = { spec: { ...first, env: [{ name: 'A', value: '1' }] }, memory: refused(sent(givenUp, another)) };

    expect(inShort(settledStep(appEnvironment, { ...options, ...taken }))).toContain('"envVars":{"A":"1"}');
  });

  it('is assumed as before once it is answered with a conflict', () => {
    const running = { ...byId, deploy: { image: 'r/x:1' }, env: [{ name: 'A', value: '1' }] };
    const assumed = appEnvironment.step(aPass(appEnvironment, { spec: running, memory: fresh, shown: shown() }));
    const bound = { ...fresh, ...('remember' in assumed && assumed.remember) };
    const wanted = { ...running, deploy: { image: 'r/x:2' } };
    const deployment = callIn(settledStep(appEnvironment, { spec: wanted, memory: bound, shown: shown() }));

    const step = settledStep(appEnvironment, {
      spec: running,
      memory: refused(sent(bound, deployment)),
      shown: shown({}, 190_000),
      with: late,
    });

    expect(inShort(step)).toBe('ready DeployAssumed');
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
