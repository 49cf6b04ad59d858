import { describe, expect, it } from 'vitest';
import { appEnvironment } from '../../../src/kinds/app-environment/app-environment.ts';
import { anEnvironment, byId, deployed, fresh, list, one, oneSent, shown, type Row } from '../support/environments.ts';
import { inShort, settledStep, shows } from '../support/pass.ts';

const bindings: readonly Row[] = [
  { because: 'its id', spec: byId, shown: shown(), comesTo: 'ready InSync' },
  { because: 'its cliEnvName', spec: { cliEnvironmentName: 'mine-prod' }, shown: shown(), comesTo: 'ready InSync' },
  {
    because: 'its name in an app',
    spec: { appRef: { externalId: 'app_1' }, environmentName: 'prod' },
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
      'SolutionInstallation/workers': { id: '', facts: { components: [{ name: 'api', environmentId: 'env_1' }] } },
    },
    shown: shown(),
    comesTo: 'ready InSync',
  },
  {
    because: 'an id that is not there',
    spec: { externalId: 'env_9' },
    shown: shown(),
    comesTo: 'wait EnvironmentNotFound',
  },
  {
    because: 'a name that two have',
    spec: { appRef: { externalId: 'app_1' }, environmentName: 'prod' },
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
    spec: { appRef: { externalId: 'app_1' }, environmentName: 'prod' },
    memory: fresh,
    shown: shown({ name: 'old' }),
    comesTo: 'stall EnvironmentChanged',
  },
  {
    because: 'one that moved to another app',
    spec: { appRef: { externalId: 'app_1' }, environmentName: 'prod' },
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
    spec: { appRef: { externalId: 'app_1' }, environmentName: 'prod' },
    memory: { ...fresh, facts: { deploy: { revision: 'r/x:0' } } },
    shown: [shows(list, [anEnvironment({ appEnvId: 'env_2' })], 70_000)],
    with: { notes: { missedAt: 5_000 } },
    comesTo: 'ready InSync',
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
    memory: deployed({ powerState: 'Running' }),
    shown: shown({ status: 'stopped' }),
    comesTo: 'ready DriftReported',
  },
  {
    because: 'drift is only reported, and it never stood still as the spec says from the start',
    spec: { ...one, powerState: 'Stopped', lifecycle: { drift: 'Report' } },
    memory: fresh,
    shown: shown(),
    comesTo: 'POST /app-env/stop {"appEnvId":"env_1"}',
  },
  {
    because: 'drift is only reported, and a deployment left it stopped',
    spec: { ...one, powerState: 'Running', lifecycle: { drift: 'Report' } },
    memory: deployed(oneSent),
    shown: shown({ status: 'stopped' }),
    comesTo: 'POST /app-env/start {"appEnvId":"env_1"}',
  },
  {
    because: 'somebody else keeps stopping it',
    spec: { ...byId, powerState: 'Running' },
    memory: deployed({ powerState: 'Running' }),
    shown: shown({ status: 'stopped' }),
    with: { contested: new Set(['powerState']) },
    comesTo: 'stall Contested',
  },
  {
    because: 'the list still shows what was before our stop',
    spec: { ...byId, powerState: 'Stopped' },
    memory: deployed({}),
    shown: shown({}, 9_500),
    with: { notes: { environmentCalled: { at: 9_000, updatedAtBefore: 100 } }, wrote: { at: 9_000, fields: {} } },
    comesTo: 'wait Updating',
  },
];

describe('an environment', () => {
  it.each(bindings)('is bound by $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });

  it('that is called otherwise by now is told with what it is called', () => {
    const spec = { appRef: { externalId: 'app_1' }, environmentName: 'prod' };
    expect(settledStep(appEnvironment, { spec, memory: fresh, shown: shown({ name: 'old' }) })).toMatchObject({
      message: expect.stringContaining('"old"'),
    });
  });

  it.each([
    { spec: { externalId: 'env_9' }, says: 'create another AppEnvironment with the right id' },
    {
      spec: { solutionRef: { name: 'workers' }, component: 'api' },
      says: 'status.components of SolutionInstallation workers shows no existing environment of component "api"',
    },
    { spec: { cliEnvironmentName: 'other' }, says: "create it in the service's console" },
  ])('that does not exist is told with what can be done: $says', ({ spec, says }) => {
    expect(settledStep(appEnvironment, { spec, shown: shown() })).toMatchObject({
      reason: 'EnvironmentNotFound',
      message: expect.stringContaining(says),
    });
  });

  it.each(powers)('runs or stands still as said: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(appEnvironment, options))).toBe(comesTo);
  });
});
