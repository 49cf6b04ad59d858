import type { z } from 'zod';
import { defineKind } from '../../engine/kind/contract/define.ts';
import { choice, fields, listOf, mapOf, setOf, text, withRule } from '../../engine/kind/schema/schema.ts';
import { hostingAccount } from './hosting-account.ts';
import { accountFields, type HostingAccountFacts } from './schema.ts';

const labelValue = text('A value.', { max: 63, pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$' });
const labelName = text('The label.', { min: 1, max: 317 });

const Expression = withRule(
  fields('A condition on one label of a namespace.', {
    key: labelName,
    operator: choice('How the label is compared with the values.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: listOf('The values to compare with, for In and NotIn.', labelValue, { max: 50 }).optional(),
  }),
  {
    rule: "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
    message: 'In and NotIn need values; Exists and DoesNotExist take no values',
    check: ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
  },
);

const AllowedNamespaces = fields(
  'The namespaces whose resources may use this account: those listed by name, and those that the selector matches. Default: no namespace.',
  {
    names: setOf('Names of namespaces.', text('A namespace.', { min: 1, max: 63 }), { max: 500 }).optional(),
    selector: fields(
      'Selects namespaces by their labels. All parts of the selector must match; an empty selector matches every namespace.',
      {
        matchLabels: mapOf('Labels that a namespace must have with exactly these values.', labelValue, {
          maxProperties: 50,
          maxKeyLength: 317,
        }).optional(),
        matchExpressions: listOf('Conditions on labels.', Expression, { max: 50 }).optional(),
      },
    ).optional(),
  },
);

/**
 * The spec of an account that namespaces share. Its Secrets are in the operator's namespace, and the spec says which
 * namespaces may use the account.
 */
const ClusterHostingAccountSpec = fields('The account of the service to share, and the namespaces that may use it.', {
  ...accountFields("the operator's namespace", 'Never'),
  allowedNamespaces: AllowedNamespaces.optional(),
});
type ClusterHostingAccountSpec = z.output<typeof ClusterHostingAccountSpec>;

/** The ClusterHostingAccount kind: an account of the service that several namespaces share. */
export const clusterHostingAccount = defineKind<ClusterHostingAccountSpec, HostingAccountFacts>({
  ...hostingAccount,
  kind: 'ClusterHostingAccount',
  plural: 'clusterhostingaccounts',
  shortNames: ['chacct'],
  scope: 'Cluster',
  summary: 'An account of the hosting service that several namespaces may use.',
  spec: ClusterHostingAccountSpec,
});
