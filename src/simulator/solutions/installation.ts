import { type BodyFields, choice, object, optional, present } from '../http/fields.ts';
import { type Reads, required, sent, text } from '../http/fields.ts';
import { credentials } from '../accounts/records.ts';
import { invalid, notFound } from '../http/refusal.ts';
import { collection } from '../store/collection.ts';
import type { World } from '../store/store.ts';
import { agentRepository, type Solution } from './catalog.ts';

/** Tags that are `latest` or a number, and digests, of the solution's own image. */
const allowedImage = new RegExp(`^${agentRepository}(:(latest|\\d+(\\.\\d+)*)|@sha256:[0-9a-f]{64})$`);

const agentImage: Reads<string> = (value, name) => {
  const image = text()(value, name);
  if (!allowedImage.test(image)) {
    throw invalid(`${name} must be ${agentRepository} with the tag latest, a numeric version tag or a sha256 digest`);
  }
  return image;
};

const mode = choice(['API_KEY', 'PERSONAL_SUBSCRIPTION']);

/** The inputs of a request as far as they were sent; other solutions have none. */
export function sentInputs(solution: Solution, body: BodyFields): Partial<Inputs> {
  const given = optional(body, 'inputs', object) ?? {};
  if (solution.agentImage === undefined) return {};
  const inputs = inNames(given);
  return present({
    agentImage: optional(inputs, 'inputs.agentImage', agentImage),
    agentAuthenticationMode: optional(inputs, 'inputs.agentAuthenticationMode', mode),
    llmProviderKeyId: optional(inputs, 'inputs.llmProviderKeyId', text()),
    agentPrimaryModel: optional(inputs, 'inputs.agentPrimaryModel', text()),
    agentSecondaryModel: optional(inputs, 'inputs.agentSecondaryModel', text()),
  });
}

function inNames(given: BodyFields): BodyFields {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [`inputs.${name}`, value]));
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
export interface Inputs {
  readonly agentAuthenticationMode: 'API_KEY' | 'PERSONAL_SUBSCRIPTION';
  readonly agentImage?: string;
  readonly llmProviderKeyId?: string;
  readonly agentPrimaryModel?: string;
  readonly agentSecondaryModel?: string;
}

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
