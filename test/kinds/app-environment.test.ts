import { describe, expect, it } from 'vitest';
import type { JournalEntry, Memory } from '../../src/engine/kind/step.ts';
import { appEnvironment } from '../../src/kinds/app-environment.ts';
import type { Facts } from '../../src/kinds/schema/app-environment.ts';
import { appEnvsOf, type AppEnvItem } from '../../src/hosting/requests.ts';
import { aPass, callIn, inShort, print, settledStep, shows, type PassOptions, type Shown } from './support/pass.ts';

const list = appEnvsOf('acc_1');

function anEnvironment(change: Partial<AppEnvItem> = {}): AppEnvItem {
  return {
    appEnvId: 'env_1',
    appId: 'app_1',
    name: 'prod',
    cliEnvName: 'mine-prod',
    hosts: [],
    status: 'running',
    updatedAtMs: 100,
    ...change,
  } as unknown as AppEnvItem;
}

function shown(change: Partial<AppEnvItem> = {}, begunAt?: number): readonly Shown[] {
  return [shows(list, [anEnvironment(change)], begunAt)];
}

/** What is remembered of an environment to which these parts were sent. */
function deployed(parts: Readonly<Record<string, unknown>>, facts: Facts = {}): Partial<Memory<Facts>> {
  const prints = Object.entries(parts).map(([field, value]) => [field, print(value as never)]);
  return {
    id: 'env_1',
    ownership: 'Adopted',
    applied: { generation: 1, prints: Object.fromEntries(prints) },
    facts: { deploy: { revision: 'r/x:1', outcome: 'Running' }, ...facts },
  };
}

const fresh: Partial<Memory<Facts>> = { id: 'env_1', ownership: 'Adopted' };
const byId = { appEnvId: 'env_1' };
const one = { ...byId, deploy: { image: 'r/x:1' } };
const oneSent = { deploy: { image: 'r/x:1' } };

type Row = PassOptions<Facts> & { readonly because: string; readonly comesTo: string };

const bindings: readonly Row[] = [
  { because: 'its id', spec: byId, shown: shown(), comesTo: 'ready InSync' },
  { because: 'its cliEnvName', spec: { cliEnvName: 'mine-prod' }, shown: shown(), comesTo: 'ready InSync' },
  {
    because: 'its name in an app',
    spec: { appId: 'app_1', environmentName: 'prod' },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'its name in an app of this namespace',
    spec: { appRef: { name: 'mine' }, environmentName: 'prod' },
    referred: { 'HostedApp/mine': { id: 'app_1', facts: {} } },
    account: { adoption: 'Never' },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'a component of a solution',
    spec: { solutionRef: { name: 'workers' }, component: 'api' },
    referred: {
      'SolutionInstallation/workers': { id: '', facts: { components: [{ name: 'api', appEnvId: 'env_1' }] } },
    },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'an id that is not there',
    spec: { appEnvId: 'env_9' },
    shown: shown(),
    comesTo: 'wait EnvironmentNotFound',
  },
  {
    because: 'a name that two have',
    spec: { appId: 'app_1', environmentName: 'prod' },
    shown: [shows(list, [anEnvironment(), anEnvironment({ appEnvId: 'env_2' })])],
    comesTo: 'stall Ambiguous',
  },
  {
    because: 'an id in an account that does not allow adoption',
    spec: byId,
    account: { adoption: 'Never' },
    shown: shown(),
    comesTo: 'stall AdoptionNotAllowed',
  },
  {
    because: 'one that an older resource has',
    spec: byId,
    shown: shown(),
    claimant: () => ({ name: 'AppEnvironment team/older', goesFirst: true }),
    comesTo: 'stall Claimed',
  },
  {
    because: 'one that a younger resource has',
    spec: byId,
    shown: shown(),
    claimant: () => ({ name: 'AppEnvironment team/younger', goesFirst: false }),
    comesTo: 'ready InSync',
  },
  {
    because: 'one that is called otherwise by now',
    spec: { appId: 'app_1', environmentName: 'prod' },
    memory: fresh,
    shown: shown({ name: 'old' }),
    comesTo: 'stall EnvironmentChanged',
  },
  {
    because: 'one that moved to another app',
    spec: { appId: 'app_1', environmentName: 'prod' },
    memory: fresh,
    shown: shown({ appId: 'app_2' }),
    comesTo: 'stall EnvironmentChanged',
  },
  {
    because: 'one that a list does not show any more',
    spec: byId,
    memory: fresh,
    shown: [shows(list, [])],
    comesTo: 'wait ObjectMissing',
  },
  {
    because: 'one that is proved gone, with a successor of its name',
    spec: { appId: 'app_1', environmentName: 'prod' },
    memory: { ...fresh, facts: { deploy: { revision: 'r/x:0' } } },
    shown: [shows(list, [anEnvironment({ appEnvId: 'env_2' })], 70_000)],
    with: { notes: { missedAt: 5_000 } },
    comesTo: 'ready InSync',
  },
];

const deployments: readonly Row[] = [
  {
    because: 'it was never deployed and is stopped',
    spec: one,
    memory: fresh,
    shown: shown({ status: 'stopped' }),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1"}',
  },
  {
    because: 'it runs already at first contact: nothing',
    spec: one,
    memory: fresh,
    shown: shown(),
    comesTo: 'ready DeployAssumed',
  },
  {
    because: 'it runs already and the spec says Deploy',
    spec: { ...byId, deploy: { image: 'r/x:1', onBind: 'Deploy' } },
    memory: fresh,
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1"}',
  },
  {
    because: 'it is being updated: nothing',
    spec: one,
    memory: fresh,
    shown: shown({ status: 'UPDATING' }),
    comesTo: 'wait Updating',
  },
  {
    because: 'its status is a word that nobody knows: nothing',
    spec: one,
    memory: fresh,
    shown: shown({ status: 'DEGRADED' }),
    comesTo: 'wait UnknownRemoteStatus',
  },
  {
    because: 'the same image was deployed: nothing',
    spec: one,
    memory: deployed(oneSent),
    shown: shown({ status: 'RUNNING' }),
    comesTo: 'ready InSync',
  },
  {
    because: 'another image',
    spec: { ...byId, deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'one variable changed: that variable and the same image',
    spec: {
      ...one,
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '3' },
      ],
    },
    memory: deployed({ ...oneSent, 'env.A': '1', 'env.B': '2' }),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","envVars":{"B":"3"}}',
  },
  {
    because: 'a variable is wanted no longer: nothing, since none can be removed',
    spec: one,
    memory: deployed({ ...oneSent, 'env.A': '1' }),
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'a setting of a function',
    spec: { ...one, functionConfig: { minScale: 1, maxScale: 3 } },
    memory: deployed({ ...oneSent, 'functionConfig.minScale': 1 }),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","functionConfig":{"maxScale":3}}',
  },
  {
    because: 'startup is declared: it is the whole override',
    spec: { ...one, startup: { command: 'node', args: ['x.js'], shell: false } },
    memory: deployed(oneSent),
    shown: shown(),
    comesTo:
      'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","startupConfig":{"command":"node","args":["x.js"],"shell":false},"replaceStartupConfig":true}',
  },
  {
    because: 'startup that we set is wanted no longer: it is cleared',
    spec: one,
    memory: deployed({ ...oneSent, startup: { command: 'node' } }),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","clearStartupConfig":true}',
  },
  {
    because: 'a new revision to build, with startup',
    spec: { ...byId, deploy: { build: { revision: 'b', forceNewBuild: true } }, startup: { command: 'node' } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo:
      'POST /app-env/build {"appEnvId":"env_1","forceNewBuild":true,"startupConfig":{"command":"node"},"replaceStartupConfig":true}',
  },
  {
    because: 'the same revision with other options: nothing',
    spec: { ...byId, deploy: { build: { revision: 'a', forceNewBuild: true } } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'startup changed and the revision did not: it waits',
    spec: { ...byId, deploy: { build: { revision: 'a' } }, startup: { command: 'node' } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo: 'ready PendingNextBuild',
  },
  {
    because: 'a rebuild of an older version',
    spec: { ...byId, deploy: { build: { revision: 'b', rebuildFrom: 'c_1' } } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo: 'POST /app-env/build {"appEnvId":"env_1","isRebuild":true,"fromContentId":"c_1"}',
  },
  {
    because: 'an older version',
    spec: { ...byId, deploy: { contentId: 'c_1' } },
    memory: deployed(oneSent, { deploy: { revision: 'r/x:1', contentId: 'c_2' } }),
    shown: shown(),
    comesTo: 'POST /app-env/rollback {"appEnvId":"env_1","targetContentId":"c_1"}',
  },
  {
    because: 'the version that we deployed last: nothing',
    spec: { ...byId, deploy: { contentId: 'c_2' } },
    memory: deployed(oneSent, { deploy: { revision: 'r/x:1', contentId: 'c_2' } }),
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'the annotation carries a new token',
    spec: one,
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'b' } },
    memory: deployed(oneSent, { lastHandledRedeployAt: 'a' }),
    shown: shown(),
    comesTo: 'POST /app-env/redeploy {"appEnvId":"env_1"}',
  },
  {
    because: 'the token was handled: nothing',
    spec: one,
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'a' } },
    memory: deployed(oneSent, { lastHandledRedeployAt: 'a' }),
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'a token was there at first contact: it is an old one',
    spec: one,
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'a' } },
    memory: fresh,
    shown: shown(),
    comesTo: 'ready DeployAssumed',
  },
  {
    because: 'what was assumed changes: everything is sent, since nothing was',
    spec: { ...byId, deploy: { image: 'r/x:2' }, env: [{ name: 'A', value: '1' }] },
    memory: deployed(
      { '~deploy': { image: 'r/x:1' }, '~env.A': '1' },
      { deploy: { revision: 'r/x:1', outcome: 'Assumed' } },
    ),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2","envVars":{"A":"1"}}',
  },
  {
    because: 'the key of the fingerprints was lost and the spec is the same: nothing',
    spec: one,
    memory: { ...deployed({}), applied: { generation: 1, prints: { deploy: '00000000:abc' } } },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'this operator has just taken over',
    spec: { ...byId, deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown(),
    with: { quarantineMs: 5_000 },
    comesTo: 'wait TakeOver',
  },
  {
    because: 'the list was not read for this deployment',
    spec: { ...byId, deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown({}, 500),
    comesTo: 'read appEnvs',
  },
];

const powers: readonly Row[] = [
  {
    because: 'it is to stop',
    spec: { ...byId, powerState: 'Stopped' },
    memory: deployed({}),
    shown: shown(),
    comesTo: 'POST /app-env/stop {"appEnvId":"env_1"}',
  },
  {
    because: 'it is stopped as it should be',
    spec: { ...byId, powerState: 'Stopped' },
    memory: deployed({}),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready InSync',
  },
  {
    because: 'it is to start',
    spec: { ...byId, powerState: 'Running' },
    memory: deployed({}),
    shown: shown({ status: 'STOPPED' }),
    comesTo: 'POST /app-env/start {"appEnvId":"env_1"}',
  },
  {
    because: 'nothing is said of it',
    spec: byId,
    memory: deployed({}),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready InSync',
  },
  {
    because: 'a deployment is held while it is to be stopped',
    spec: { ...byId, powerState: 'Stopped', deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready DeployHeld',
  },
  {
    because: 'a deployment is held while somebody has stopped it',
    spec: { ...byId, deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready DeployHeld',
  },
  {
    because: 'a held deployment goes instead of a start',
    spec: { ...byId, powerState: 'Running', deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown({ status: 'stopped' }),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
  },
  {
    because: 'a redeployment is held',
    spec: { ...one, powerState: 'Stopped' },
    subject: { annotations: { 'apphosting.dev/redeploy-at': 'b' } },
    memory: deployed(oneSent),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready DeployHeld',
  },
  {
    because: 'drift is only reported',
    spec: { ...byId, powerState: 'Running', lifecycle: { drift: 'Report' } },
    memory: deployed({}),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready Observed',
  },
  {
    because: 'somebody else keeps stopping it',
    spec: { ...byId, powerState: 'Running' },
    memory: deployed({}),
    shown: shown({ status: 'stopped' }),
    with: { contested: new Set(['powerState']) },
    comesTo: 'stall Contested',
  },
  {
    because: 'the list still shows what was before our stop',
    spec: { ...byId, powerState: 'Stopped' },
    memory: deployed({}),
    shown: shown({}, 9_500),
    with: { notes: { calledAt: 9_000, updatedAtBefore: 100 }, wrote: { at: 9_000, fields: {} } },
    comesTo: 'wait Updating',
  },
];

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
    digest: print([{ image: 'r/x:2' }, {}, false]),
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
    because: 'something else is wanted by now',
    memory: { ...second, journal: entry({ attempt: 2 }) },
    shown: shown({}, 190_000),
    spec: { ...byId, deploy: { image: 'r/x:3' } },
    with: late,
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:3"}',
  },
];

describe('an environment', () => {
  it.each(bindings)('is bound by $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });

  it.each(deployments)('is deployed to when it should be: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });

  it.each(powers)('runs or stands still as said: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });

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

  it('reads a rotated Secret as a variable that changed', () => {
    const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...one, env },
        memory: deployed({ ...oneSent, 'env.A': 'old' }),
        secrets: { 's/k': 'new' },
        shown: shown(),
      }),
    );

    expect(Object.keys((call.request.body?.['envVars'] ?? {}) as object)).toEqual(['A']);
    expect(JSON.stringify(call.committed({ success: true }))).not.toContain('new');
  });

  it('keeps the last ten deployments, newest first', () => {
    const history = Array.from({ length: 10 }, (_, index) => ({ revision: `r/x:${index}` }));
    const call = callIn(
      settledStep(appEnvironment, { spec: spec2, memory: deployed(oneSent, { history }), shown: shown() }),
    );

    const after10 = call.committed({ success: true })?.facts?.history ?? [];
    expect(after10).toHaveLength(10);
    expect(after10[0]).toMatchObject({ revision: 'r/x:2', outcome: 'Updating' });
  });

  it('says which variables and settings are left over', () => {
    const memory = deployed({ ...oneSent, 'env.A': '1', 'functionConfig.minScale': 1, startup: { command: 'x' } });

    expect(appEnvironment.show(aPass(appEnvironment, { spec: one, memory, shown: shown() })).leftover).toEqual([
      'env.A',
      'functionConfig.minScale',
    ]);
    expect(appEnvironment.show(aPass(appEnvironment, { spec: byId, memory, shown: shown() })).leftover).toEqual([
      'env.A',
      'functionConfig.minScale',
      'startup',
    ]);
  });

  it('does not take a refused rollback for a reason to deploy anything else', () => {
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...byId, deploy: { contentId: 'c_1' } },
        memory: deployed(oneSent),
        shown: shown(),
      }),
    );

    expect(call.refused?.({ is: 'refused', status: 400, message: 'current', body: undefined })).toMatchObject({
      is: 'stall',
      reason: 'RollbackRefused',
    });
  });

  it('says that an environment was never deployed when it refuses to start', () => {
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...byId, powerState: 'Running' },
        memory: { ...fresh, applied: { generation: 1, prints: {} } },
        shown: shown({ status: 'stopped' }),
      }),
    );

    expect(call.refused?.({ is: 'refused', status: 400, message: 'never', body: undefined })).toMatchObject({
      reason: 'NeverDeployed',
    });
  });

  it('does not send again what the service accepted and called failed', () => {
    const memory = deployed(oneSent, { deploy: { revision: 'r/x:1', outcome: 'Failed' } });

    expect(inShort(settledStep(appEnvironment, { spec: one, memory, shown: shown() }))).toBe('stall DeployFailed');
  });
});
