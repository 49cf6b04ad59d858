import { describe, expect, it } from 'vitest';
import { solutionInstallation } from '../../../src/kinds/solution-installation/solution-installation.ts';
import type { SolutionInstallationFacts } from '../../../src/kinds/solution-installation/schema.ts';
import type { Json } from '../../../src/base/json.ts';
import type { Related } from '../../../src/engine/kind/contract/pass.ts';
import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import {
  appEnvsOf,
  appsOf,
  solutionsOf,
  type AppEnvItem,
  type AppItem,
  type SolutionItem,
} from '../../../src/hosting/requests.ts';
import {
  aPass,
  callIn,
  inShort,
  fingerprint,
  settledStep,
  shows,
  type PassOptions,
  type Shown,
} from '../support/pass.ts';

const catalog = shows(solutionsOf('acc_1'), [
  { solutionSlug: 'queue-worker', requiredInputs: [], components: [{ name: 'queue' }, { name: 'api' }] },
  { solutionSlug: 'agent', requiredInputs: ['llmProviderKeyId', 'agentPrimaryModel'], components: [] },
] as unknown as readonly SolutionItem[]);

function apps(...names: readonly string[]): Shown {
  return shows(
    appsOf('acc_1'),
    names.map((name) => ({ appId: `app_${name}`, name, createdAtMs: 1_767_225_600_000 }) as AppItem),
  );
}

const noEnvironments = shows(appEnvsOf('acc_1'), [] as AppEnvItem[]);
const running = [{ appEnvId: 'env_1', appId: 'app_worker-api', name: 'production', status: 'running' } as AppEnvItem];
const environment = shows(appEnvsOf('acc_1'), running);
const updating = shows(appEnvsOf('acc_1'), [
  { appEnvId: 'env_1', appId: 'app_worker-api', name: 'production', status: 'UPDATING' } as AppEnvItem,
]);
const calm = [catalog, apps('coworkers'), noEnvironments];
/** The apps of an installation are there. */
const there = [catalog, apps('worker-api', 'coworkers'), environment];
const spec = { solution: 'queue-worker', appName: 'worker', region: 'eu-west' };

/** What is remembered of a complete installation. */
function complete(
  fields: Readonly<Record<string, string>>,
  more: Partial<Memory<SolutionInstallationFacts>> = {},
): Partial<Memory<SolutionInstallationFacts>> {
  const fingerprints = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, fingerprint(value)]));
  return {
    id: 'inst_1',
    ownership: 'Created',
    applied: { generation: 1, fingerprints },
    facts: { complete: true, components: [{ name: 'api', appId: 'app_worker-api', environmentId: 'env_1' }] },
    ...more,
  };
}

const asApplied = { appName: 'worker', region: 'eu-west' };
const body = (more: object = {}) =>
  JSON.stringify({ accountId: 'acc_1', solutionSlug: 'queue-worker', appName: 'worker', region: 'eu-west', ...more });

/** A call whose answer was lost. */
function doubt(operation: 'install' | 'upgrade'): NonNullable<Memory<SolutionInstallationFacts>['journal']> {
  return {
    operation,
    attempt: 1,
    endpoint: 'api.example.com',
    accountId: 'acc_1',
    startedAt: '2026-06-01T00:00:00Z',
    deadlineSeconds: 30,
    digest: fingerprint('what was sent'),
    ...(operation === 'install' && {
      create: { collection: 'solutions', name: 'worker', excluded: ['app_coworkers'] },
    }),
  };
}

const asSent = fingerprint(JSON.parse(body()) as Json);

/** So late that a call in doubt can no longer arrive. */
const late = { monotonicMs: 200_000, askedAt: 190_000, journalSeen: { monotonic: 1_000, wall: 0 } };

function madeBy(kind: string): Related {
  return { name: `${kind} team/other`, id: 'x', ownership: 'Created', facts: {} } as Related;
}

/** An AppEnvironment whose last call is not known to have ended. */
const deploying = { name: 'AppEnvironment team/api', id: 'env_1', inDoubt: true } as Related;

const imageChanged = {
  spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
  memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
};

const rows: readonly (PassOptions<SolutionInstallationFacts> & { because: string; comesTo: string })[] = [
  { because: 'it is new', spec, comesTo: `POST /solutions ${body()}` },
  {
    because: 'the catalog has no such solution',
    spec: { ...spec, solution: 'que-worker' },
    comesTo: 'stall UnknownSolution',
  },
  { because: 'an input is missing', spec: { ...spec, solution: 'agent' }, comesTo: 'stall InvalidSpec' },
  {
    because: 'a personal subscription needs none of the inputs of a key',
    spec: { ...spec, solution: 'agent', inputs: [{ name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' }] },
    comesTo: `POST /solutions ${JSON.stringify({
      accountId: 'acc_1',
      solutionSlug: 'agent',
      appName: 'worker',
      region: 'eu-west',
      inputs: { agentAuthenticationMode: 'PERSONAL_SUBSCRIPTION' },
    })}`,
  },
  {
    because: 'a part of it is there',
    spec,
    memory: { id: 'inst_1', ownership: 'Created' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_1' })}`,
  },
  {
    because: 'the spec names an installation that was begun before',
    spec: { ...spec, externalId: 'inst_7' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_7' })}`,
  },
  {
    because: 'the account does not allow to take one up',
    spec: { ...spec, externalId: 'inst_7' },
    account: { adoption: 'Never' },
    comesTo: 'stall AdoptionNotAllowed',
  },
  {
    because: 'apps of its name are there that no resource is known to have made',
    spec,
    shown: there,
    comesTo: 'stall AlreadyExists',
  },
  {
    because: 'apps of its name were made by other resources',
    spec,
    shown: there,
    with: { related: (kind, id) => (id === 'app_worker-api' ? [madeBy(kind)] : []) },
    comesTo: `POST /solutions ${body()}`,
  },
  {
    because: 'an app of its name was only taken over by another resource, and may be its component',
    spec,
    shown: there,
    with: { related: (kind) => (kind === 'HostedApp' ? [{ ...madeBy(kind), ownership: 'Adopted' as const }] : []) },
    comesTo: 'stall AlreadyExists',
  },
  {
    because: 'the answer to the first call was lost and an app of its name shows, whatever its clock says',
    spec,
    shown: [catalog, { ...apps('coworkers', 'workerQueue1'), begunAt: 195_000 }],
    memory: { journal: doubt('install') },
    with: late,
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'the answer to the first call was lost and each component shows once',
    spec,
    shown: [catalog, { ...apps('coworkers', 'workerQueue', 'worker-api'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: { ...doubt('install'), digest: asSent } },
    with: late,
    comesTo: 'ready Presumed',
  },
  {
    because: 'the answer to the first call was lost and components show, before it can no longer arrive',
    spec,
    shown: [catalog, { ...apps('coworkers', 'workerQueue', 'worker-api'), begunAt: 9_000 }, noEnvironments],
    memory: { journal: { ...doubt('install'), digest: asSent } },
    with: { ...late, monotonicMs: 10_000, askedAt: 9_000 },
    comesTo: 'wait InDoubt',
  },
  {
    because: 'the answer to the first call was lost and one of what shows has another name',
    spec,
    shown: [catalog, { ...apps('workerQueue', 'worker-api2'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: { ...doubt('install'), digest: asSent } },
    with: late,
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'the answer to the first call was lost and one of what shows is older than it',
    spec,
    shown: [catalog, { ...apps('workerQueue', 'worker-api'), begunAt: 195_000 }, noEnvironments],
    memory: {
      journal: {
        ...doubt('install'),
        digest: asSent,
        create: { collection: 'solutions', name: 'worker', excluded: [], serviceTime: '2026-06-01T00:00:00Z' },
      },
    },
    with: late,
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'the answer to the first call was lost and another resource is creating an app of that name',
    spec,
    shown: [catalog, { ...apps('workerQueue', 'worker-api'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: { ...doubt('install'), digest: asSent } },
    with: { ...late, creating: (_collection, name) => (name === 'worker-api' ? 'HostedApp team/api' : undefined) },
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'the answer to the first call was lost and nothing shows',
    spec,
    shown: [catalog, { ...apps('coworkers'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: doubt('install') },
    with: late,
    comesTo: `POST /solutions ${body()}`,
  },
  { because: 'it is complete', spec, shown: there, memory: complete(asApplied), comesTo: 'ready InSync' },
  {
    because: 'the spec of a complete one names another installation',
    spec: { ...spec, externalId: 'inst_7' },
    shown: there,
    memory: complete(asApplied),
    comesTo: 'stall Immutable',
  },
  {
    because: 'the spec of one that failed halfway names another installation',
    spec: { ...spec, externalId: 'inst_7' },
    memory: { id: 'inst_1', ownership: 'Created', facts: { complete: false } },
    comesTo: 'stall Immutable',
  },
  {
    because: 'the spec named a wrong installation, which no answer knew, and names another now',
    spec: { ...spec, externalId: 'inst_7' },
    memory: { id: 'inst_1', ownership: 'Adopted' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_7' })}`,
  },
  {
    because: 'the region of a complete one is changed',
    shown: there,
    spec: { ...spec, region: 'us-east' },
    memory: complete(asApplied),
    comesTo: 'stall Immutable',
  },
  {
    because: 'an input of a complete one is dropped',
    shown: there,
    spec,
    memory: complete({ ...asApplied, 'inputs.model': 'x' }),
    comesTo: 'stall Immutable',
  },
  {
    because: 'the agent image of a complete one is changed',
    shown: there,
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
    comesTo: `POST /solutions ${body({ installationId: 'inst_1', inputs: { agentImage: 'svc/agent:2' } })}`,
  },
  {
    because: 'the agent image of a complete one is changed while a component is being updated',
    shown: [catalog, apps('worker-api', 'coworkers'), updating],
    ...imageChanged,
    comesTo: 'wait Updating',
  },
  {
    because: 'the agent image of a complete one is changed, and the environments were read before it was looked at',
    shown: there,
    with: { askedAt: 2_000 },
    ...imageChanged,
    comesTo: 'read appEnvs',
  },
  {
    because: 'the agent image of a complete one is changed while a deployment to a component is in doubt',
    shown: there,
    with: { related: (kind) => (kind === 'AppEnvironment' ? [deploying] : []) },
    ...imageChanged,
    comesTo: 'wait EnvironmentInDoubt',
  },
  {
    because: 'the agent image of a complete one is changed, and a deployment to a component is in doubt for too long',
    shown: there,
    with: {
      related: (kind) => (kind === 'AppEnvironment' ? [deploying] : []),
      notes: { beside: { begunMs: 0, since: -210_000 } },
    },
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
    comesTo: `POST /solutions ${body({ installationId: 'inst_1', inputs: { agentImage: 'svc/agent:2' } })}`,
  },
  {
    because: 'the answer to an upgrade was lost and it may still arrive',
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:1' }] },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { journal: doubt('upgrade') }),
    comesTo: 'wait InDoubt',
  },
  {
    because: 'the answer to an upgrade was lost and it was taken back meanwhile',
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:1' }] },
    shown: [catalog, apps('worker-api', 'coworkers'), shows(appEnvsOf('acc_1'), running, late.askedAt)],
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { journal: doubt('upgrade') }),
    with: late,
    comesTo: `POST /solutions ${body({ installationId: 'inst_1', inputs: { agentImage: 'svc/agent:1' } })}`,
  },
  {
    because: 'the service answered to an upgrade with a conflict',
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    memory: complete(
      { ...asApplied, 'inputs.agentImage': 'svc/agent:1' },
      { journal: { ...doubt('upgrade'), conflicted: 'busy' } },
    ),
    comesTo: 'stall Rejected',
  },
  {
    because: 'the answer to an upgrade was lost and the image was taken out of the spec meanwhile',
    spec,
    shown: there,
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { journal: doubt('upgrade') }),
    with: late,
    comesTo: 'ready InSync',
  },
  {
    because: 'the agent image is changed and the id was never shown',
    shown: there,
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { id: undefined }),
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because:
      'the agent image is changed, the id was never shown, no component either, and somebody puts the id into the spec',
    shown: calm,
    spec: { ...spec, externalId: 'inst_7', inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    account: { adoption: 'Never' },
    memory: complete(
      { ...asApplied, 'inputs.agentImage': 'svc/agent:1' },
      { id: undefined, facts: { complete: true } },
    ),
    comesTo: `POST /solutions ${body({ installationId: 'inst_7', inputs: { agentImage: 'svc/agent:2' } })}`,
  },
  {
    because: 'the agent image of a complete one is changed, and the environment of a component is proved gone',
    ...imageChanged,
    shown: [catalog, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    with: { notes: { missed: { env_1: 5_000 } } },
    comesTo: 'stall ObjectGone',
  },
  {
    because: 'the agent image is changed right after an installation, and a component does not show yet',
    ...imageChanged,
    shown: [catalog, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    with: { wrote: { at: 69_000, fields: {} } },
    comesTo: 'wait Updating',
  },
  {
    because: 'another component was missed long ago',
    spec,
    memory: complete(asApplied),
    shown: [catalog, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    with: { notes: { missed: { env_2: 5_000 } } },
    comesTo: 'wait ObjectMissing',
  },
  {
    because: 'the environment of a component does not show for the first time',
    spec,
    shown: [catalog, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    memory: complete(asApplied),
    comesTo: 'wait ObjectMissing',
  },
  {
    because: 'the environment of a component is proved gone',
    spec,
    shown: [catalog, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    memory: complete(asApplied),
    with: { notes: { missed: { env_1: 5_000 } } },
    comesTo: 'stall ObjectGone',
  },
  {
    because: 'the operator has just taken over, and the agent image is changed',
    spec: { ...spec, inputs: [{ name: 'agentImage', value: 'svc/agent:2' }] },
    shown: there,
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
    with: { takeOverMs: 1_000 },
    comesTo: 'wait TakeOver',
  },
  {
    because: 'the operator has just taken over, and a part of it is there',
    spec,
    memory: { id: 'inst_1', ownership: 'Created' },
    with: { takeOverMs: 1_000 },
    comesTo: 'wait TakeOver',
  },
  {
    because: 'the answer to the first call was lost, its components show, and it has another name by now',
    spec: { ...spec, appName: 'other' },
    shown: [catalog, { ...apps('worker-api'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: doubt('install') },
    with: late,
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'the answer to the first call was lost, nothing shows, and it has another name by now',
    spec: { ...spec, appName: 'coworkers' },
    shown: [catalog, { ...apps('coworkers'), begunAt: 195_000 }, noEnvironments],
    memory: { journal: doubt('install') },
    with: late,
    comesTo: 'stall AlreadyExists',
  },
  {
    because: 'a component is proved gone and is to be made again',
    spec: { ...spec, lifecycle: { onMissing: 'Recreate' } },
    memory: complete(asApplied),
    shown: [catalog, apps(), shows(appEnvsOf('acc_1'), [] as AppEnvItem[], 70_000)],
    with: { notes: { missed: { env_1: 5_000 } } },
    comesTo: `POST /solutions ${body({ installationId: 'inst_1' })}`,
  },
  { because: 'deleting it leaves it as it is', spec, subject: { deleting: true }, comesTo: 'release' },
];

describe('an installation', () => {
  it.each(rows)('comes to the right end when $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(solutionInstallation, { shown: calm, ...options }))).toBe(comesTo);
  });

  it('is written down before it is sent, with the apps that could be taken for its components', () => {
    const call = callIn(settledStep(solutionInstallation, { spec, shown: calm }));

    expect(call.journal).toMatchObject({
      operation: 'install',
      attempt: 1,
      create: { collection: 'solutions', name: 'worker', excluded: ['app_coworkers'] },
    });
  });

  it('writes down an upgrade before it is sent, since the image is never shown', () => {
    const memory = complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' });
    const inputs = [{ name: 'agentImage', value: 'svc/agent:2' }];
    const call = callIn(settledStep(solutionInstallation, { spec: { ...spec, inputs }, memory, shown: there }));

    expect(call.journal).toMatchObject({ operation: 'upgrade', attempt: 1 });
  });

  it('adds up what answers say of its components', () => {
    const call = callIn(
      settledStep(solutionInstallation, {
        spec: { ...spec, lifecycle: { onMissing: 'Recreate' } },
        memory: {
          id: 'inst_1',
          facts: { complete: false, components: [{ name: 'queue', appId: 'a', environmentId: 'e' }, { appId: 'b' }] },
        },
        shown: calm,
      }),
    );

    const learned = call.committed({ components: [{ name: 'api', appId: 'b', appEnvId: 'f' }, { appId: 'c' }] });

    expect(learned?.facts?.components).toEqual([
      { name: 'queue', appId: 'a', environmentId: 'e' },
      { name: 'api', appId: 'b', environmentId: 'f' },
      { name: undefined, appId: 'c', environmentId: undefined },
    ]);
  });

  it('puts a component that was made anew in the place of the one of that name', () => {
    const facts = { complete: false, components: [{ name: 'queue', appId: 'a', environmentId: 'e' }] };
    const call = callIn(settledStep(solutionInstallation, { spec, memory: { id: 'inst_1', facts }, shown: calm }));

    const learned = call.committed({ components: [{ name: 'queue', appId: 'b', appEnvId: 'f' }] });

    expect(learned?.facts?.components).toEqual([{ name: 'queue', appId: 'b', environmentId: 'f' }]);
  });

  it('remembers that the agent image has left the spec after a component was made', () => {
    const facts = { complete: false, components: [{ name: 'control', appId: 'a', environmentId: 'e' }] };
    const memory = complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { facts });
    const call = callIn(settledStep(solutionInstallation, { spec, memory, shown: calm }));

    const learned = call.committed({ components: [{ name: 'queue', appId: 'b', appEnvId: 'f' }] });

    expect(learned?.applied?.fingerprints).toEqual(memory.applied?.fingerprints);
  });

  it('sets the agent image again after a component was made', () => {
    const facts = { complete: false, components: [{ name: 'control', appId: 'a', environmentId: 'e' }] };
    const memory = complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { facts });
    const inputs = [{ name: 'agentImage', value: 'svc/agent:1' }];
    const call = callIn(settledStep(solutionInstallation, { spec: { ...spec, inputs }, memory, shown: calm }));

    const learned = call.committed({ components: [{ name: 'queue', appId: 'b', appEnvId: 'f' }] });

    expect(call.request.body).not.toHaveProperty('inputs');
    expect(learned?.applied?.fingerprints).not.toHaveProperty(['inputs.agentImage']);
  });

  it('names components that an answer showed by id only, and corrects what does not belong together', () => {
    const components = [
      { appId: 'app_worker-queue', environmentId: 'env_api' },
      { appId: 'app_worker-api', environmentId: 'env_queue' },
      { appId: 'app_worker-extra' },
    ];
    const environments = ['queue', 'api', 'extra'].map(
      (name) => ({ appEnvId: `env_${name}`, appId: `app_worker-${name}`, name, status: 'running' }) as AppEnvItem,
    );
    const pass = aPass(solutionInstallation, {
      spec,
      memory: complete(asApplied, { facts: { complete: true, components } }),
      shown: [catalog, apps('worker-queue', 'worker-api', 'worker-extra'), shows(appEnvsOf('acc_1'), environments)],
    });
    const step = solutionInstallation.step(pass);

    expect(step.is === 'again' && step.remember.facts?.components).toEqual([
      { name: 'queue', appId: 'app_worker-queue', environmentId: 'env_queue' },
      { name: 'api', appId: 'app_worker-api', environmentId: 'env_api' },
      { name: 'worker-extra', appId: 'app_worker-extra', environmentId: 'env_extra' },
    ]);
  });
});

describe('the components of an installation that are not all there', () => {
  it('are counted of those that the catalog has', () => {
    const facts = { complete: false, components: [{ name: 'api', appId: 'app_worker-api', environmentId: 'env_1' }] };
    const pass = aPass(solutionInstallation, { spec, shown: there, memory: { facts } });

    expect(solutionInstallation.show(pass).facts).toMatchObject({ componentsRunning: '1/2' });
  });
});
