import { readFile } from 'node:fs/promises';

/** One request as the API server recorded it. */
export interface Audited {
  readonly verb: string;
  readonly user: string;
  /** `group/resource`, with `/status` where that was meant. */
  readonly what: string;
  readonly namespace: string | undefined;
  readonly code: number | undefined;
}

interface Line {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly resource: string;
    readonly apiGroup?: string;
    readonly subresource?: string;
    readonly namespace?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a user asked of the API server. */
export async function auditOf(path: string, user: string): Promise<readonly Audited[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  return lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.user.username === user)
    .flatMap(({ verb, objectRef, responseStatus }) => {
      if (objectRef === undefined) return [];
      const { resource, apiGroup = '', subresource, namespace } = objectRef;
      const what = subresource === undefined ? `${apiGroup}/${resource}` : `${apiGroup}/${resource}/${subresource}`;
      return [{ verb, user, what, namespace, code: responseStatus?.code }];
    });
}

/** What a user asked for without having the permission; a 403 for another reason is not meant. */
export async function refusedTo(path: string, user: string): Promise<readonly string[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.includes(`"${user}"`));
  return lines
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.user.username === user && line.annotations?.['authorization.k8s.io/decision'] === 'forbid')
    .map(({ verb, objectRef }) => `${verb} ${JSON.stringify(objectRef)}`);
}
