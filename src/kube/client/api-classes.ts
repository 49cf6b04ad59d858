/**
 * Adds to the API classes of client-node what they lack. The sandbox, benchmarks and scenarios get shared connections and a
 * deadline. The command-line commands get the operator's own transport, with its credentials, deadline and error messages.
 *
 * The operator itself uses its own client (client.ts) instead. With the API classes every call opens a new connection with a
 * TLS handshake, the informer ends at the first 500, and nothing has a deadline.
 */
import {
  KubeConfig,
  type RequestContext,
  AuthorizationV1Api,
  createConfiguration,
  CustomObjectsApi,
  PatchStrategy,
  ResponseContext,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import { Agent } from 'undici';
import type { KubeApi, KubeObject, Page, Resource } from '../../engine/ports.ts';
import { provesAbsence, refusalOf } from './failure.ts';
import { parseObject, parsePage, titleOf } from './parse.ts';
import type { ApiCall, KubeTransport } from './transport.ts';

/** A KubeConfig whose calls share connections and have a deadline. */
export class ConnectedConfig extends KubeConfig {
  readonly #agent: Agent;
  readonly #answerMs: number;

  /**
   * `ca` is the certificate of the API server's authority; undefined if the system trusts that anyway. `answerMs` is the
   * deadline of a call.
   */
  constructor(ca: string | undefined, answerMs: number) {
    super();
    this.#agent = new Agent({ connections: 16, connect: ca === undefined ? {} : { ca } });
    this.#answerMs = answerMs;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setDispatcher(this.#agent);
    context.setSignal(AbortSignal.timeout(this.#answerMs));
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** The part of the Kubernetes API that the command-line commands use. */
export interface CommandApi extends Pick<KubeApi, 'get' | 'list' | 'patch' | 'serverDate'> {
  /** Asks the API server whether somebody may do something (SubjectAccessReview). */
  isAllowed?(who: { readonly user: string; readonly groups: readonly string[] }, what: ClusterAction): Promise<boolean>;
}

/** An action that RBAC allows or denies. `resource` includes the subresource, such as `hostedapps/status`. */
export interface ClusterAction {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
}

/** The Kubernetes API for the command-line commands. */
export class ClassedApi implements CommandApi {
  readonly #transport: KubeTransport;

  constructor(transport: KubeTransport) {
    this.#transport = transport;
  }

  async get(resource: Resource, namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const what = `reading ${titleOf(resource, namespace, name)}`;
    const custom = new CustomObjectsApi(this.#over(what, { absent: name }));
    const asked: Promise<unknown> =
      namespace === undefined
        ? custom.getClusterCustomObject({ ...resource, name })
        : custom.getNamespacedCustomObject({ ...resource, namespace, name });
    const found = await asked;
    return found === null ? undefined : parseObject(found, what);
  }

  async list(resource: Resource, { namespace, limit, continue: next }: Parameters<KubeApi['list']>[1]): Promise<Page> {
    const what = `listing ${resource.plural}`;
    const custom = new CustomObjectsApi(this.#over(what));
    const page = { ...resource, limit, ...(next !== undefined && { _continue: next }) };
    const asked =
      namespace === undefined
        ? custom.listClusterCustomObject(page)
        : custom.listNamespacedCustomObject({ ...page, namespace });
    return parsePage(await asked, what);
  }

  async patch(...[resource, namespace = '', name, body]: Parameters<KubeApi['patch']>): Promise<KubeObject> {
    const what = `patching ${titleOf(resource, namespace, name)}`;
    const custom = new CustomObjectsApi(this.#over(what, { patched: true }));
    const options = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch);
    const asked = custom.patchNamespacedCustomObject({ ...resource, namespace, name, body }, options);
    return parseObject(await asked, what);
  }

  async isAllowed(...[who, action]: Parameters<NonNullable<CommandApi['isAllowed']>>): Promise<boolean> {
    const what = 'creating a SubjectAccessReview';
    const { verb, group, resource: whole, namespace } = action;
    const [resource = '', subresource = ''] = whole.split('/');
    const resourceAttributes = { verb, group, resource, subresource, ...(namespace !== undefined && { namespace }) };
    const review = { spec: { user: who.user, groups: [...who.groups], resourceAttributes } };
    const asked = new AuthorizationV1Api(this.#over(what)).createSubjectAccessReview({ body: review });
    return (await asked).status?.allowed === true;
  }

  serverDate(): ReturnType<NonNullable<KubeApi['serverDate']>> {
    return this.#transport.serverDate;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /**
   * Configures an API class to send its requests over our transport. Error messages begin with `what`. A 404 for the object
   * with the name `absent` becomes null.
   */
  #over(what: string, { patched = false, absent }: { readonly patched?: boolean; readonly absent?: string } = {}) {
    const send = async (request: RequestContext): Promise<ResponseContext> => {
      const answer = await this.#transport.send(callOf(request, what));
      const isAbsent = absent !== undefined && answer.status === 404 && provesAbsence(answer.text, absent);
      if (!isAbsent && (answer.status < 200 || answer.status > 299)) throw refusalOf(answer, what, patched);
      const [status, text] = isAbsent ? [200, 'null'] : [answer.status, answer.text];
      const body = { text: async () => text, binary: async () => Buffer.from(text), stream: () => null };
      return new ResponseContext(status, { 'content-type': 'application/json' }, body);
    };
    const baseServer = new ServerConfiguration('http://server', {});
    return createConfiguration({ baseServer, httpApi: wrapHttpLibrary({ send }) });
  }
}

function callOf(request: RequestContext, what: string): ApiCall {
  const { pathname, searchParams } = new URL(request.getUrl());
  const [body, contentType] = [request.getBody(), request.getHeaders()['Content-Type']];
  return {
    method: request.getHttpMethod() as unknown as ApiCall['method'],
    // The API class for any group serves the core group too. The core group has an empty name, and its paths begin with /api.
    path: pathname.replace(/^\/apis\/\//, '/api/'),
    query: Object.fromEntries(searchParams),
    ...(typeof body === 'string' && { body: JSON.parse(body) }),
    ...(contentType !== undefined && { contentType }),
    what,
  };
}
