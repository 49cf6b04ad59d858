import { collection } from '../store/collection.ts';

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
