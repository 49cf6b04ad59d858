import { credentials } from '../accounts/records.ts';
import { type BodyFields, choice, inside, object, optional, type ReadFields, readFields } from '../http/fields.ts';
import { type Reads, required, sent, text } from '../http/fields.ts';
import { invalid, notFound } from '../http/refusal.ts';
import { collection } from '../store/collection.ts';
import type { World } from '../store/store.ts';

/** One part of a solution, created as a normal app with one environment. */
export interface Component {
  readonly name: string;
  readonly dockerPreset: string;
  readonly port: number;
  readonly dependsOn: readonly string[];
  /** The image it runs; managed services have their own. */
  readonly image?: string;
}

/** An entry of the catalog. */
export interface Solution {
  readonly solutionSlug: string;
  readonly label: string;
  readonly requiredInputs: readonly string[];
  /** The repository of the solution's own image, where inputs may choose one. */
  readonly agentImage?: string;
  readonly components: readonly Component[];
  readonly postInstallNote?: string;
}

/** The repository that agent images come from. */
export const agentRepository = 'svc/sandbox-agent';

/** The catalog. */
export const catalog: readonly Solution[] = [
  {
    solutionSlug: 'sandbox-agent',
    label: 'Sandbox agent',
    requiredInputs: ['llmProviderKeyId', 'agentPrimaryModel', 'agentSecondaryModel'],
    agentImage: agentRepository,
    components: [
      { name: 'control', dockerPreset: 'CUSTOM', port: 8080, dependsOn: [] },
      { name: 'gateway', dockerPreset: 'CUSTOM', port: 8443, dependsOn: ['control'], image: 'svc/sandbox-gateway:1' },
    ],
    postInstallNote: 'Connect the agent to your repository before you treat all components as connected.',
  },
  {
    solutionSlug: 'queue-worker',
    label: 'Queue and worker',
    requiredInputs: [],
    components: [
      { name: 'queue', dockerPreset: 'RABBITMQ', port: 5672, dependsOn: [] },
      { name: 'worker', dockerPreset: 'CUSTOM', port: 8080, dependsOn: ['queue'], image: 'svc/queue-worker:1' },
      { name: 'api', dockerPreset: 'EXPRESS', port: 3000, dependsOn: ['queue', 'worker'], image: 'svc/queue-api:1' },
    ],
  },
];

/** Tags that are `latest` or a number, and digests, of the solution's own image. */
const allowedImage = new RegExp(`^${agentRepository}(:(latest|\\d+(\\.\\d+)*)|@sha256:[0-9a-f]{64})$`);

const agentImage: Reads<string> = (value, name) => {
  const image = text()(value, name);
  if (!allowedImage.test(image)) {
    throw invalid(`${name} must be ${agentRepository} with the tag latest, a numeric version tag or a sha256 digest`);
  }
  return image;
};

const inputFields = inside('inputs', {
  agentImage,
  agentAuthenticationMode: choice(['API_KEY', 'PERSONAL_SUBSCRIPTION']),
  llmProviderKeyId: text(),
  agentPrimaryModel: text(),
  agentSecondaryModel: text(),
});

/** The inputs of a request as far as they were sent; other solutions have none. */
export function sentInputs(solution: Solution, body: BodyFields): Partial<Inputs> {
  const given = optional(body, 'inputs', object) ?? {};
  return solution.agentImage === undefined ? {} : readFields(given, inputFields);
}

/** The inputs of a new installation: with an API key everything is required, with a personal subscription nothing. */
export function newInputs(solution: Solution, given: Partial<Inputs>): Inputs {
  const agentAuthenticationMode = given.agentAuthenticationMode ?? 'API_KEY';
  if (agentAuthenticationMode === 'API_KEY') {
    for (const name of solution.requiredInputs) required(given as BodyFields, name, text());
  }
  return { ...given, agentAuthenticationMode };
}

/** The provider key must be a credential of the account. In personal mode none is looked at. */
export function requireProviderKey(world: World, accountId: string, body: BodyFields): void {
  const inputs = body['inputs'];
  if (typeof inputs !== 'object' || inputs === null) return;
  const { llmProviderKeyId, agentAuthenticationMode } = inputs as Record<string, unknown>;
  if (agentAuthenticationMode === 'PERSONAL_SUBSCRIPTION' || typeof llmProviderKeyId !== 'string') return;
  const credential = world.of(credentials).get(llmProviderKeyId);
  if (credential?.accountId !== accountId) throw notFound('llmProviderKeyId: credential not found');
  if (credential.kind !== 'llm') throw invalid('llmProviderKeyId must name a key of a model provider');
}

/** The first input that differs from what the installation was made with; the image may differ. */
export function differingInput(saved: Inputs, given: Partial<Inputs>): string | undefined {
  const names = ['agentAuthenticationMode', 'llmProviderKeyId', 'agentPrimaryModel', 'agentSecondaryModel'] as const;
  return names.find((name) => sent(given as BodyFields, name) && given[name] !== saved[name]);
}

/** The inputs of an installation. */
export type Inputs = ReadFields<typeof inputFields> &
  Required<Pick<ReadFields<typeof inputFields>, 'agentAuthenticationMode'>>;

/** A component that exists. */
export interface Installed {
  readonly name: string;
  readonly appId: string;
  readonly appEnvId: string;
}

/** A solution in an account, complete or not. */
export interface Installation {
  readonly installationId: string;
  readonly accountId: string;
  readonly solutionSlug: string;
  readonly appName: string;
  readonly region: string;
  readonly inputs: Inputs;
  /** The membership that created it. */
  readonly ownerMembershipId: string;
  readonly components: readonly Installed[];
  readonly createdAt: number;
}

/** All installations. */
export const installations = collection<Installation>('installations', (each) => each.installationId, {
  indexes: { account: (each) => each.accountId },
});
