import type { V1SubjectAccessReview } from '@kubernetes/client-node';
import { z } from 'zod';
import {
  type KubeApi,
  type KubeObject,
  type Page,
  type PageOptions,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../../engine/ports.ts';
import { type ApiAnswer, provesAbsence, refusalOf, silenceOf } from './failure.ts';
import { type KubeWire, linesOf, parsed, parseJson, parseObject, parsePage, parseWatchLine, titleOf } from './parse.ts';
import { type ApiCall, KubeTransport } from './transport.ts';

/** The operator supports Kubernetes 1 from this minor version on. */
export const oldestMinor = 33;

const metadataList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const metadataItem = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

/** The version of the API server. */
export interface ServerVersion {
  readonly text: string;
  readonly supported: boolean;
}

/** Parses the number at the beginning of a text, because some providers report a minor version such as "33+". */
const leadingNumber = z
  .string()
  .transform((text) => Number.parseInt(text, 10))
  .pipe(z.int());
const Version = z.object({ major: leadingNumber, minor: leadingNumber, gitVersion: z.string().min(1).optional() });

/** An action that RBAC allows or denies. `resource` includes the subresource, such as `hostedapps/status`. */
export interface ClusterAction {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
}

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

const Named = z.object({ metadata: z.object({ name: z.string().min(1) }) });

/** A client of the Kubernetes API of one cluster. Connections open with the first request. */
export class KubeClient extends KubeTransport implements KubeApi {
  async get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const what = `reading ${titleOf(resource, namespace, name)}`;
    const answer = await this.send({ method: 'GET', path: objectPath(resource, namespace, name), what });
    if (answer.status === 404 && provesAbsence(answer.text, name)) return undefined;
    return parseObject(bodyOf(answer, what), what);
  }

  async list(resource: Resource, options: PageOptions): Promise<Page> {
    const what = `listing ${resource.plural}`;
    const answer = await this.send({
      method: 'GET',
      path: collectionPath(resource, options.namespace),
      query: { limit: String(options.limit), continue: options.continue, labelSelector: options.labelSelector },
      ...(options.metadataOnly === true && { accept: metadataList }),
      what,
    });
    return parsePage(bodyOf(answer, what), what);
  }

  async *watch(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent, void, void> {
    const what = `watching ${resource.plural}`;
    const call: ApiCall = {
      method: 'GET',
      path: collectionPath(resource, options.namespace),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: options.resourceVersion,
        timeoutSeconds: String(options.timeoutSeconds),
        labelSelector: options.labelSelector,
      },
      ...(options.metadataOnly === true && { accept: metadataItem }),
      what,
    };
    try {
      const stream = await this.open(call, options.signal);
      for await (const line of linesOf(stream, this.limits.lineBytes, what)) {
        yield parseWatchLine(line, what);
      }
    } catch (cause) {
      if (options.signal.aborted) return;
      throw silenceOf(cause, what);
    }
  }

  async create(resource: Resource, namespace: string | undefined, object: unknown): Promise<KubeObject> {
    const { metadata } = Named.parse(object);
    const what = `creating ${titleOf(resource, namespace, metadata.name)}`;
    return this.#write({ method: 'POST', path: collectionPath(resource, namespace), body: object, what });
  }

  async replace(resource: Resource, namespace: string | undefined, name: string, object: unknown): Promise<KubeObject> {
    const what = `replacing ${titleOf(resource, namespace, name)}`;
    return this.#write({ method: 'PUT', path: objectPath(resource, namespace, name), body: object, what });
  }

  async replaceStatus(
    ...[resource, namespace, name, object]: Parameters<KubeApi['replaceStatus']>
  ): Promise<KubeObject> {
    const what = `writing the status of ${titleOf(resource, namespace, name)}`;
    return this.#write({ method: 'PUT', path: objectPath(resource, namespace, name, 'status'), body: object, what });
  }

  async patch(...[resource, namespace, name, operations]: Parameters<KubeApi['patch']>): Promise<KubeObject> {
    const what = `patching ${titleOf(resource, namespace, name)}`;
    const path = objectPath(resource, namespace, name);
    const contentType = 'application/json-patch+json';
    return this.#write({ method: 'PATCH', path, body: operations, contentType, what });
  }

  async delete(resource: Resource, namespace: string | undefined, name: string): Promise<void> {
    const what = `deleting ${titleOf(resource, namespace, name)}`;
    const answer = await this.send({ method: 'DELETE', path: objectPath(resource, namespace, name), what });
    bodyOf(answer, what);
  }

  async #write(call: ApiCall): Promise<KubeObject> {
    const answer = await this.send(call);
    return parseObject(bodyOf(answer, call.what, call.method === 'PATCH'), call.what);
  }

  /** Returns the API server's version, and whether the operator supports this version. */
  async serverVersion(): Promise<ServerVersion> {
    const what = 'asking for the version of Kubernetes';
    const body = bodyOf(await this.send({ method: 'GET', path: '/version', what }), what);
    const { major, minor, gitVersion } = parsed(Version, body, what, 'the answer has no version of Kubernetes');
    const supported = major > 1 || (major === 1 && minor >= oldestMinor);
    return { text: gitVersion ?? `v${major}.${minor}`, supported };
  }

  /** Asks the API server whether a user may do an action (SubjectAccessReview). */
  async isAllowed(
    who: { readonly user: string; readonly groups: readonly string[] },
    { verb, group, resource: whole, namespace }: ClusterAction,
  ): Promise<boolean> {
    const what = 'creating a SubjectAccessReview';
    const [resource = '', subresource = ''] = whole.split('/');
    const body: KubeWire<V1SubjectAccessReview> = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { ...who, resourceAttributes: { verb, group, resource, subresource, namespace } },
    };
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const answer = bodyOf(await this.send({ method: 'POST', path, body, what }), what);
    return parsed(Review, answer, what, 'the answer of the API server does not say whether the action is allowed')
      .status.allowed;
  }
}

function bodyOf(answer: ApiAnswer, what: string, patched = false): unknown {
  if (answer.status < 200 || answer.status > 299) throw refusalOf(answer, what, patched);
  return parseJson(answer.text, what);
}

/** Returns the URL path for listing and creating objects of a resource. */
function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const inside = resource.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${root}${inside}/${resource.plural}`;
}

/** Returns the URL path of one object. */
function objectPath(resource: Resource, namespace: string | undefined, name: string, part?: 'status'): string {
  // Never make the path of a namespaced object without its namespace. The API server would answer such a request with 404, and
  // the caller would take the 404 as proof that the object does not exist.
  if (resource.namespaced && namespace === undefined)
    throw new Error(`${resource.plural} "${name}" cannot be addressed without a namespace`);
  const tail = part === undefined ? '' : `/${part}`;
  return `${collectionPath(resource, namespace)}/${segment(name)}${tail}`;
}

/** Encodes a name so that the name stays one segment of the path, whatever characters it has. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') throw new Error(`"${text}" cannot be a name in Kubernetes`);
  return encodeURIComponent(text);
}
