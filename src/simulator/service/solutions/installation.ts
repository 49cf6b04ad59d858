import { requireCredential } from '../accounts/access.ts';
import { type BodyFields, choice, matching, object, optional, type ReadFields, readFields } from '../../http/fields.ts';
import { required, text } from '../../http/fields.ts';
import { collection } from '../../store/collection.ts';
import type { World } from '../../store/store.ts';

/** A component of a solution; it is installed as an app with one environment. */
export interface Component {
  readonly name: string;
  readonly dockerPreset: string;
  readonly port: number;
  readonly dependsOn: readonly string[];
  /** The image of the component; absent for a managed service. */
  readonly image?: string;
}

/** A solution in the catalog of the service. */
export interface Solution {
  readonly solutionSlug: string;
  readonly label: string;
  readonly requiredInputs: readonly string[];
  /** The repository of the image that the solution's agent runs; absent for a solution without an agent. */
  readonly agentImage?: string;
  readonly components: readonly Component[];
  readonly postInstallNote?: string;
}

/** The registry path of the container image that the agents of a solution run. */
export const agentRepository = 'svc/sandbox-agent';

/** The catalog of solutions, as GET /solutions lists it. */
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
    postInstallNote: 'Connect the agent to your repository. Only then are all components connected.',
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

/** Matches an allowed agent image: the agent's repository with the tag `latest`, with a version number as tag, or with a digest. */
const allowedImage = new RegExp(`^${agentRepository}(:(latest|\\d+(\\.\\d+)*)|@sha256:[0-9a-f]{64})$`);
const allowedImages = `the image ${agentRepository} with the tag "latest", a numeric version tag or a sha256 digest`;

const inputFields = {
  agentImage: matching(allowedImage, allowedImages),
  agentAuthenticationMode: choice(['API_KEY', 'PERSONAL_SUBSCRIPTION']),
  llmProviderKeyId: text(),
  agentPrimaryModel: text(),
  agentSecondaryModel: text(),
};

/** Validates and returns the inputs of a solution in a request. If the solution has no agent, its inputs are ignored. */
export function sentInputs(solution: Solution, body: BodyFields): Partial<Inputs> {
  const given = optional(body, 'inputs', object) ?? {};
  return solution.agentImage === undefined ? {} : readFields(given, inputFields, 'inputs');
}

/** Completes the inputs of a new installation with defaults. In API_KEY mode, fails if an input that the solution requires is missing. */
export function newInputs(solution: Solution, given: Partial<Inputs>): Inputs {
  const agentAuthenticationMode = given.agentAuthenticationMode ?? 'API_KEY';
  if (agentAuthenticationMode === 'API_KEY') {
    for (const name of solution.requiredInputs) required(given as BodyFields, name, text());
  }
  return { ...given, agentAuthenticationMode };
}

/**
 * Fails if the `llmProviderKeyId` of a request is not the id of an LLM credential of the account. Does nothing in
 * PERSONAL_SUBSCRIPTION mode, which needs no provider key.
 */
export function requireProviderKey(world: World, accountId: string, body: BodyFields): void {
  const inputs = body['inputs'];
  if (typeof inputs !== 'object' || inputs === null) return;
  const { llmProviderKeyId, agentAuthenticationMode } = inputs as Record<string, unknown>;
  if (agentAuthenticationMode === 'PERSONAL_SUBSCRIPTION' || typeof llmProviderKeyId !== 'string') return;
  requireCredential(world, 'llmProviderKeyId', { credentialId: llmProviderKeyId, accountId, kind: 'llm' });
}

/** The inputs of an installation of a solution. */
export type Inputs = ReadFields<typeof inputFields> &
  Required<Pick<ReadFields<typeof inputFields>, 'agentAuthenticationMode'>>;

/** A component that an installation has already created: its app and its environment. */
export interface Installed {
  readonly name: string;
  readonly appId: string;
  readonly appEnvId: string;
}

/** An installation of a solution in an account, complete or incomplete. */
export interface Installation {
  readonly installationId: string;
  readonly accountId: string;
  readonly solutionSlug: string;
  readonly appName: string;
  readonly region: string;
  readonly inputs: Inputs;
  /** The id of the membership with which the caller created the installation. */
  readonly ownerMembershipId: string;
  readonly components: readonly Installed[];
  readonly createdAt: number;
}

/** All installations of solutions in the simulator's data. */
export const installations = collection<Installation>('installations', (each) => each.installationId);
