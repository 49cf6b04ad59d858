import { choice, fields, flag, list, must, type ReadFields, text } from '../../http/fields.ts';
import { collection } from '../../store/collection.ts';

/** A scope of an API token, such as `svc:read`; each endpoint needs certain scopes. */
export type Scope = 'svc:read' | 'svc:write:config' | 'svc:write:deploy' | 'svc:write:dangerous';

/** All scopes that an API token may have. */
export const everyScope: readonly Scope[] = ['svc:read', 'svc:write:config', 'svc:write:deploy', 'svc:write:dangerous'];

/** The settings of an account that a control request (/_sim) can set, each with the function that validates it. */
export const accountFields = { name: text(), memberEnvAccess: flag, sandboxEntitlement: flag };

/** An account of the hosting service; apps, environments and contact points belong to an account. */
export interface Account extends Required<ReadFields<typeof accountFields>> {
  readonly accountId: string;
}

/** All accounts in the simulator's data. */
export const accounts = collection<Account>('accounts', (account) => account.accountId);

/** An API token. A request sends the token in its Authorization header to show who the caller is. */
export interface Token {
  readonly token: string;
  readonly kind: 'user' | 'environment';
  readonly scopes: readonly Scope[];
  readonly currentAccountId?: string;
}

/** All API tokens in the simulator's data. */
export const tokens = collection<Token>('tokens', (token) => token.token);

/** Validates a membership in a control request (/_sim): the account, the role and the permissions. */
export const membershipFields = fields({
  accountId: must(text()),
  membershipId: text(),
  role: must(choice(['admin', 'member'])),
  permissions: list(choice(['manageMembers', 'secretsAccess'])),
});

/** The role and permissions of a token in one account. */
export interface MembershipRecord extends Required<ReturnType<typeof membershipFields>> {
  readonly token: string;
  /**
   * The environments that the member may see if `memberEnvAccess` of the account is on; an empty list means all
   * environments.
   */
  readonly allowedAppEnvIds: readonly string[];
}

/** A permission that is granted to each membership separately. The admin role does not include it. */
export type Permission = MembershipRecord['permissions'][number];

/** All memberships in the simulator's data, indexed by token and by account. */
export const memberships = collection<MembershipRecord>('memberships', (membership) => membership.membershipId, {
  token: (membership) => membership.token,
  account: (membership) => membership.accountId,
});

/** Validates the features that a region supports: Functions, sandboxes and disaster readiness. */
export const supportFields = fields({ functions: flag, sandbox: flag, disasterReadiness: flag });

/** A region in which the service hosts environments. */
export interface Region {
  readonly name: string;
  readonly up: boolean;
  readonly supports: Required<ReturnType<typeof supportFields>>;
}

/** All regions in the simulator's data. */
export const regions = collection<Region>('regions', (region) => region.name);

/** Validates a credential in a control request (/_sim). */
export const credentialFields = fields({
  credentialId: text(),
  accountId: must(text()),
  kind: must(choice(['storage', 'llm', 'registry'])),
});

/**
 * A credential of an account, such as a registry password. The real service keeps it in its Credentials API; requests refer to it only by
 * id.
 */
export type CredentialRecord = Required<ReturnType<typeof credentialFields>>;

/** All credentials in the simulator's data. */
export const credentials = collection<CredentialRecord>('credentials', (credential) => credential.credentialId);
