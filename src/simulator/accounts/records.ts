import { choice, fields, flag, list, must, type ReadFields, text } from '../http/fields.ts';
import { collection } from '../store/collection.ts';

/** A scope of a token, which permits some requests. */
export type Scope = 'svc:read' | 'svc:write:config' | 'svc:write:deploy' | 'svc:write:dangerous';

/** Lists every scope that a token may have. */
export const everyScope: readonly Scope[] = ['svc:read', 'svc:write:config', 'svc:write:deploy', 'svc:write:dangerous'];

/** The settings of an account. */
export const accountFields = { name: text(), memberEnvAccess: flag, sandboxEntitlement: flag };

/** An account: a customer of the service. */
export interface Account extends Required<ReadFields<typeof accountFields>> {
  readonly accountId: string;
}

/** The collection of all accounts. */
export const accounts = collection<Account>('accounts', (account) => account.accountId);

/** A token, by which a request proves who sends it. */
export interface Token {
  readonly token: string;
  readonly kind: 'user' | 'environment';
  readonly scopes: readonly Scope[];
  readonly currentAccountId?: string;
}

/** The collection of all tokens. */
export const tokens = collection<Token>('tokens', (token) => token.token);

/** Reads a membership. */
export const membershipFields = fields({
  accountId: must(text()),
  membershipId: text(),
  role: must(choice(['admin', 'member'])),
  permissions: list(choice(['manageMembers', 'secretsAccess'])),
});

/** The role and permissions of a token in one account. */
export interface MembershipRecord extends Required<ReturnType<typeof membershipFields>> {
  readonly token: string;
  /** The environments that the member may see; an empty list means all environments. */
  readonly allowedAppEnvIds: readonly string[];
}

/** A permission that even an admin of an account has only when it was given. */
export type Permission = MembershipRecord['permissions'][number];

/** The collection of all memberships, indexed by token and by account. */
export const memberships = collection<MembershipRecord>('memberships', (membership) => membership.membershipId, {
  token: (membership) => membership.token,
  account: (membership) => membership.accountId,
});

/** Reads what a region supports. */
export const supportFields = fields({ functions: flag, sandbox: flag, disasterReadiness: flag });

/** A region of the service. */
export interface Region {
  readonly name: string;
  readonly up: boolean;
  readonly supports: Required<ReturnType<typeof supportFields>>;
}

/** The collection of all regions. */
export const regions = collection<Region>('regions', (region) => region.name);

/** Reads a credential. */
export const credentialFields = fields({
  credentialId: text(),
  accountId: must(text()),
  kind: must(choice(['storage', 'llm', 'registry'])),
});

/** A credential that the Credentials API of the service keeps; requests refer to it only by its id. */
export type CredentialRecord = Required<ReturnType<typeof credentialFields>>;

/** The collection of all credentials. */
export const credentials = collection<CredentialRecord>('credentials', (credential) => credential.credentialId);
