import { describe, expect, it } from 'vitest';
import { solutionInstallation } from '../../src/kinds/solution-installation.ts';
import type { Facts } from '../../src/kinds/schema/solution-installation.ts';
import type { Memory } from '../../src/engine/kind/step.ts';
import {
  appEnvsOf,
  appOf,
  appsOf,
  solutionsOf,
  type AppEnvItem,
  type AppItem,
  type SolutionItem,
} from '../../src/hosting/requests.ts';
import { callIn, inShort, print, settledStep, shows, type PassOptions, type Shown } from './support/pass.ts';

const catalogue = shows(solutionsOf('acc_1'), [
  { solutionSlug: 'queue-worker', requiredInputs: [], components: [] },
  { solutionSlug: 'agent', requiredInputs: ['llmProviderKeyId', 'agentPrimaryModel'], components: [] },
] as unknown as readonly SolutionItem[]);

function apps(...names: readonly string[]): Shown {
  return shows(
    appsOf('acc_1'),
    names.map((name) => ({ appId: `app_${name}`, name, createdAtMs: 1_767_225_600_000 }) as AppItem),
  );
}

const calm = [catalogue, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[])];
const spec = { solution: 'queue-worker', appName: 'worker', region: 'eu-west' };

/** What is remembered of a complete installation. */
function complete(fields: Readonly<Record<string, string>>, more: Partial<Memory<Facts>> = {}): Partial<Memory<Facts>> {
  const prints = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, print(value)]));
  return {
    id: 'inst_1',
    ownership: 'Created',
    applied: { generation: 1, prints },
    facts: { complete: true, components: [{ name: 'api', appId: 'app_worker-api', appEnvId: 'env_1' }] },
    ...more,
  };
}

const asApplied = { appName: 'worker', region: 'eu-west' };
const body = (more: object = {}) =>
  JSON.stringify({ accountId: 'acc_1', solutionSlug: 'queue-worker', appName: 'worker', region: 'eu-west', ...more });

const rows: readonly (PassOptions<Facts> & { because: string; comesTo: string })[] = [
  { because: 'it is new', spec, comesTo: `POST /solutions ${body()}` },
  {
    because: 'the catalogue has no such solution',
    spec: { ...spec, solution: 'que-worker' },
    comesTo: 'stall UnknownSolution',
  },
  { because: 'an input is missing', spec: { ...spec, solution: 'agent' }, comesTo: 'stall InvalidSpec' },
  {
    because: 'a personal subscription needs none of the inputs of a key',
    spec: { ...spec, solution: 'agent', inputs: { agentAuthenticationMode: { value: 'PERSONAL_SUBSCRIPTION' } } },
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
    spec: { ...spec, installationId: 'inst_7' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_7' })}`,
  },
  {
    because: 'the account does not allow to take one up',
    spec: { ...spec, installationId: 'inst_7' },
    account: { adoption: 'Never' },
    comesTo: 'stall AdoptionNotAllowed',
  },
  { because: 'it is complete', spec, memory: complete(asApplied), comesTo: 'ready InSync' },
  {
    because: 'the region of a complete one is changed',
    spec: { ...spec, region: 'us-east' },
    memory: complete(asApplied),
    comesTo: 'stall Immutable',
  },
  {
    because: 'an input of a complete one is dropped',
    spec,
    memory: complete({ ...asApplied, 'inputs.model': 'x' }),
    comesTo: 'stall Immutable',
  },
  {
    because: 'the agent image of a complete one is changed',
    spec: { ...spec, inputs: { agentImage: { value: 'svc/agent:2' } } },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
    comesTo: `POST /solutions ${body({ installationId: 'inst_1', inputs: { agentImage: 'svc/agent:2' } })}`,
  },
  {
    because: 'the agent image is changed and the id was never shown',
    spec: { ...spec, inputs: { agentImage: { value: 'svc/agent:2' } } },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { id: undefined }),
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'a component is proved gone',
    spec,
    memory: complete(asApplied),
    shown: [catalogue, shows(appsOf('acc_1'), [], 70_000), shows(appOf('app_worker-api'), [], 70_000)],
    with: { notes: { missedAt: 5_000 } },
    comesTo: 'stall ObjectGone',
  },
  {
    because: 'a component is proved gone and is to be made again',
    spec: { ...spec, lifecycle: { onMissing: 'Recreate' } },
    memory: complete(asApplied),
    shown: [catalogue, shows(appsOf('acc_1'), [], 70_000), shows(appOf('app_worker-api'), [], 70_000)],
    with: { notes: { missedAt: 5_000 } },
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
      create: { collection: 'solutions', name: 'worker', excluded: ['app_worker-api'] },
    });
  });

  it('keeps the secret inputs out of the note', () => {
    const inputs = { key: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } } };
    const call = callIn(
      settledStep(solutionInstallation, { spec: { ...spec, inputs }, shown: calm, secrets: { 's/k': 'hush-hush' } }),
    );

    const told = call.tells?.({ postInstallNote: 'your key is hush-hush, see https://x.example' });

    expect(told?.note).toBe('your key is [secret], see [url]');
  });
});
