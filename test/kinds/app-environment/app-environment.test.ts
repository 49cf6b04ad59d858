import { describe, expect, it } from 'vitest';
import { appEnvironment } from '../../../src/kinds/app-environment/app-environment.ts';
import { byId, deployed, fresh, one, oneSent, shown, type Row } from '../support/environments.ts';
import { aPass, callIn, inShort, settledStep } from '../support/pass.ts';

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
    spec: { ...one, startupConfig: { command: 'node', args: ['x.js'], shell: false } },
    memory: deployed(oneSent),
    shown: shown(),
    comesTo:
      'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","startupConfig":{"command":"node","args":["x.js"],"shell":false},"replaceStartupConfig":true}',
  },
  {
    because: 'startup that we set is wanted no longer: it is cleared',
    spec: one,
    memory: deployed({ ...oneSent, startupConfig: { command: 'node' } }),
    shown: shown(),
    comesTo: 'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:1","clearStartupConfig":true}',
  },
  {
    because: 'a new revision to build, with startup',
    spec: { ...byId, deploy: { build: { revision: 'b', forceNewBuild: true } }, startupConfig: { command: 'node' } },
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
    spec: { ...byId, deploy: { build: { revision: 'a' } }, startupConfig: { command: 'node' } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo: 'ready PendingNextBuild',
  },
  {
    because: 'a rebuild of an older version',
    spec: { ...byId, deploy: { build: { revision: 'b', fromContentId: 'c_1' } } },
    memory: deployed({ deploy: { build: 'a' } }),
    shown: shown(),
    comesTo: 'POST /app-env/build {"appEnvId":"env_1","isRebuild":true,"fromContentId":"c_1"}',
  },
  {
    because: 'an older version',
    spec: { ...byId, deploy: { rollbackContentId: 'c_1' } },
    memory: deployed(oneSent, { deploy: { revision: 'r/x:1', contentId: 'c_2' } }),
    shown: shown(),
    comesTo: 'POST /app-env/rollback {"appEnvId":"env_1","targetContentId":"c_1"}',
  },
  {
    because: 'the version that we deployed last: nothing',
    spec: { ...byId, deploy: { rollbackContentId: 'c_2' } },
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
    memory: { ...deployed({}), applied: { generation: 1, fingerprints: { deploy: '00000000:abc' } } },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'this operator has just taken over',
    spec: { ...byId, deploy: { image: 'r/x:2' } },
    memory: deployed(oneSent),
    shown: shown(),
    with: { takeOverMs: 5_000 },
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

const sent = 'POST /app-env/deploy-image {"appEnvId":"env_1",';
const both = '"envVars":{"A":"2","B":"2"}}';
const a1 = { name: 'A', value: '1' };

describe('an environment', () => {
  it.each(deployments)('is deployed to when it should be: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
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

  it('forgets what is left over before it forgets what is wanted', () => {
    const old = Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`env.OLD_${index}`, '1']));
    const env = [{ name: 'A', value: '1' }];
    const call = callIn(
      settledStep(appEnvironment, { spec: { ...one, env }, memory: deployed({ ...old, ...oneSent }), shown: shown() }),
    );

    const fingerprints = call.committed({ success: true })?.applied?.fingerprints ?? {};
    expect(Object.keys(fingerprints).length).toBeLessThanOrEqual(600);
    expect(Object.keys(fingerprints).slice(0, 2)).toEqual(['deploy', 'env.A']);
  });

  it('keeps the last ten deployments, newest first', () => {
    const history = Array.from({ length: 10 }, (_, index) => ({ revision: `r/x:${index}` }));
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...byId, deploy: { image: 'r/x:2' } },
        memory: deployed(oneSent, { history }),
        shown: shown(),
      }),
    );

    const after10 = call.committed({ success: true })?.facts?.history ?? [];
    expect(after10).toHaveLength(10);
    expect(after10[0]).toMatchObject({ revision: 'r/x:2', outcome: 'Updating' });
  });

  it('says which variables and settings are left over', () => {
    const memory = deployed({
      ...oneSent,
      'env.A': '1',
      'functionConfig.minScale': 1,
      startupConfig: { command: 'x' },
    });

    expect(appEnvironment.show(aPass(appEnvironment, { spec: one, memory, shown: shown() })).leftover).toEqual([
      'env.A',
      'functionConfig.minScale',
    ]);
    expect(appEnvironment.show(aPass(appEnvironment, { spec: byId, memory, shown: shown() })).leftover).toEqual([
      'env.A',
      'functionConfig.minScale',
      'startupConfig',
    ]);
  });

  it('does not take a refused rollback for a reason to deploy anything else', () => {
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...byId, deploy: { rollbackContentId: 'c_1' } },
        memory: deployed(oneSent),
        shown: shown(),
      }),
    );

    expect(call.refused?.({ is: 'refused', status: 400, message: 'current', body: undefined }, 0)).toMatchObject({
      is: 'stall',
      reason: 'RollbackRefused',
    });
  });

  it('says that an environment was never deployed when it refuses to start', () => {
    const call = callIn(
      settledStep(appEnvironment, {
        spec: { ...byId, powerState: 'Running' },
        memory: { ...fresh, applied: { generation: 1, fingerprints: {} } },
        shown: shown({ status: 'stopped' }),
      }),
    );

    expect(call.refused?.({ is: 'refused', status: 400, message: 'never', body: undefined }, 0)).toMatchObject({
      reason: 'NeverDeployed',
    });
  });

  it.each([
    ['is not sent again by itself', {}, {}, 'stall DeployFailed'],
    [
      'is sent again when redeploy-at asks for it',
      {},
      { 'apphosting.dev/redeploy-at': 'b' },
      `${sent}"image":"r/x:2",${both}`,
    ],
    [
      'sends its variables with what is wanted next',
      { deploy: { image: 'r/x:3' } },
      {},
      `${sent}"image":"r/x:3",${both}`,
    ],
    ['is taken back', { deploy: { image: 'r/x:1' }, env: [a1] }, {}, `${sent}"image":"r/x:1","envVars":{"A":"1"}}`],
  ])('whose deployment the service called failed %s', (_what, change, annotations, comesTo) => {
    const spec = {
      ...byId,
      deploy: { image: 'r/x:2' },
      env: [
        { name: 'A', value: '2' },
        { name: 'B', value: '2' },
      ],
    };
    const memory = deployed({ ...oneSent, 'env.A': '1' });
    const call = callIn(settledStep(appEnvironment, { spec, memory, shown: shown() }));
    const failed = { ...memory, ...call.committed({ success: false }) };
    const subject = { annotations };

    const step = settledStep(appEnvironment, { spec: { ...spec, ...change }, memory: failed, shown: shown(), subject });

    expect(inShort(step)).toBe(comesTo);
  });

  it('whose first deployment the service called failed is deployed to though it stands still', () => {
    const stopped = shown({ status: 'stopped' });
    const call = callIn(settledStep(appEnvironment, { spec: one, memory: fresh, shown: stopped }));
    const memory = { ...fresh, ...call.committed({ success: false }) };
    const spec = { ...byId, deploy: { image: 'r/x:2' } };

    expect(inShort(settledStep(appEnvironment, { spec, memory, shown: stopped }))).toBe(`${sent}"image":"r/x:2"}`);
  });

  it.each([
    ['is not sent again by itself', 'b', one, 'stall DeployFailed'],
    ['is sent again for another token', 'c', one, 'POST /app-env/redeploy {"appEnvId":"env_1"}'],
    [
      'is over with the next deployment',
      'b',
      { ...byId, deploy: { image: 'r/x:2' } },
      'POST /app-env/deploy-image {"appEnvId":"env_1","image":"r/x:2"}',
    ],
  ])('whose redeployment the service called failed %s', (_what, token, spec, comesTo) => {
    const memory = deployed(oneSent);
    const asking = (value: string) => ({ annotations: { 'apphosting.dev/redeploy-at': value } });
    const call = callIn(settledStep(appEnvironment, { spec: one, memory, shown: shown(), subject: asking('b') }));
    const failed = { ...memory, ...call.committed({ success: false }) };

    const step = settledStep(appEnvironment, { spec, memory: failed, shown: shown(), subject: asking(token) });

    expect(failed.facts?.lastHandledRedeployAt).toBeUndefined();
    expect(inShort(step)).toBe(comesTo);
  });

  it('shows what a failed deployment may have left, once it is wanted no longer', () => {
    const spec = { ...one, env: [{ name: 'B', value: '2' }] };
    const call = callIn(settledStep(appEnvironment, { spec, memory: deployed(oneSent), shown: shown() }));
    const memory = { ...deployed(oneSent), ...call.committed({ success: false }) };

    expect(appEnvironment.show(aPass(appEnvironment, { spec: one, memory, shown: shown() })).leftover).toEqual([
      'env.B',
    ]);
  });
});
