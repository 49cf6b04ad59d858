import { requireCredential } from '../accounts/access.ts';
import { type BodyFields, choice, matching, object, optional, type ReadFields, readFields } from '../http/fields.ts';
import { required, text } from '../http/fields.ts';
import { collection } from '../store/collection.ts';
import type { World } from '../store/store.ts';

/** A part of a solution, which is installed as an app with one environment. */
export interface Component {
  readonly name: string;
  readonly dockerPreset: string;
  readonly port: number;
  readonly dependsOn: readonly string[];
  /** The image of the component; a managed service needs none. */
  readonly image?: string;
}

/** A solution in the catalog of the service. */
export interface Solution {
  readonly solutionSlug: string;
  readonly label: string;
  readonly requiredInputs: readonly string[];
  /** The repository from which the inputs may choose an image; set only for solutions with an agent. */
  readonly agentImage?: string;
  readonly components: readonly Component[];
  readonly postInstallNote?: string;
}

/** The image repository of the agents in solutions. */
export const agentRepository = 'svc/sandbox-agent';

/** The catalog of solutions. */
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

/** Matches an agent image with the tag `latest`, a tag that is a version number, or a digest. */
const allowedImage = new RegExp(`^${agentRepository}(:(latest|\\d+(\\.\\d+)*)|@sha256:[0-9a-f]{64})$`);
const allowedImages = `must be ${agentRepository} with the tag latest, a numeric version tag or a sha256 digest`;

const inputFields = {
  agentImage: matching(allowedImage, allowedImages),
  agentAuthenticationMode: choice(['API_KEY', 'PERSONAL_SUBSCRIPTION']),
  llmProviderKeyId: text(),
  agentPrimaryModel: text(),
  agentSecondaryModel: text(),
};

/** Reads the inputs of a solution that a request sent; a solution without an agent has no inputs. */
export function sentInputs(solution: Solution, body: BodyFields): Partial<Inputs> {
  const given = optional(body, 'inputs', object) ?? {};
  return solution.agentImage === undefined ? {} : readFields(given, inputFields, 'inputs');
}

/**
 * Completes the inputs of a new installation with defaults. In API-key mode, refuses when an input that the solution requires is missing.
 */
export function newInputs(solution: Solution, given: Partial<Inputs>): Inputs {
  const agentAuthenticationMode = given.agentAuthenticationMode ?? 'API_KEY';
  if (agentAuthenticationMode === 'API_KEY') {
    for (const name of solution.requiredInputs) required(given as BodyFields, name, text());
  }
  return { ...given, agentAuthenticationMode };
}

/** Refuses a provider key that is not a suitable credential of the account. A personal subscription needs no key. */
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

/** A component of an installation that was created. */
export interface Installed {
  readonly name: string;
  readonly appId: string;
  readonly appEnvId: string;
}

/** An installation of a solution in an account, complete or not. */
export interface Installation {
  readonly installationId: string;
  readonly accountId: string;
  readonly solutionSlug: string;
  readonly appName: string;
  readonly region: string;
  readonly inputs: Inputs;
  /** The membership that created the installation. */
  readonly ownerMembershipId: string;
  readonly components: readonly Installed[];
  readonly createdAt: number;
}

/** The collection of all installations of solutions. */
export const installations = collection<Installation>('installations', (each) => each.installationId);
