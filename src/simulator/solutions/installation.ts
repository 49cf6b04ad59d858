import { collection } from '../store/collection.ts';

/** What an installation was asked to use. */
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
  /** Who signed in when it was created. */
  readonly ownerMembershipId: string;
  readonly components: readonly Installed[];
  readonly createdAt: number;
}

/** All installations. */
export const installations = collection<Installation>('installations', (each) => each.installationId, {
  indexes: { account: (each) => each.accountId },
});
