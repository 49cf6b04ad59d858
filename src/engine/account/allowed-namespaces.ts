/** The namespaces that a shared account allows. */
export interface AllowedNamespaces {
  readonly names?: readonly string[];
  readonly selector?: {
    readonly matchLabels?: Readonly<Record<string, string>>;
    readonly matchExpressions?: readonly {
      readonly key: string;
      readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
      readonly values?: readonly string[];
    }[];
  };
}

type Labels = Readonly<Record<string, string>>;

/** True when a namespace is allowed. None is by default, nor one whose labels are unknown. */
export function isAllowed(allowed: AllowedNamespaces | undefined, name: string, labels: Labels | undefined): boolean {
  if (allowed?.names?.includes(name) === true) return true;
  if (allowed?.selector === undefined || labels === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = allowed.selector;
  const equal = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return equal && matchExpressions.every((expression) => holds(expression, labels));
}

function holds(
  expression: NonNullable<NonNullable<AllowedNamespaces['selector']>['matchExpressions']>[number],
  labels: Labels,
): boolean {
  const value = labels[expression.key];
  const values = expression.values ?? [];
  switch (expression.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
