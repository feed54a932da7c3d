{{- define "ragsite.fullname" -}}
{{- if contains "ragsite" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-ragsite" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "ragsite.selector" -}}
app.kubernetes.io/name: ragsite
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ragsite.labels" -}}
{{ include "ragsite.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "ragsite.image" -}}
{{- $repository := required "image.repository: the registry that you pushed deploy/Dockerfile's image to" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "ragsite.claim" -}}
{{- .Values.uploads.existingClaim | default (printf "%s-uploads" (include "ragsite.fullname" .)) -}}
{{- end -}}

{{- /* Replicas that a worker has at least. */ -}}
{{- define "ragsite.workerReplicas" -}}
{{- if .keda.enabled -}}{{ .keda.minReplicas }}{{- else -}}{{ .replicas }}{{- end -}}
{{- end -}}

{{- define "ragsite.env" -}}
{{- $ingest := .Values.workers.ingest -}}
{{- $made := dict
    "MILVUS_URI" (required "milvus.uri: the address of Milvus" .Values.milvus.uri)
    "RAGSITE_TRUSTED_ORIGINS" (printf "https://%s" (required "host: what the site is reached as" .Values.host))
    "RAGSITE_TRUSTED_PROXIES" .Values.trustedProxies
    "RAGSITE_DRAIN_S" (.Values.web.drainS | toString)
    "RAG_INGEST_WORKERS" (mul (include "ragsite.workerReplicas" $ingest) $ingest.concurrency | toString) -}}
{{- if and .Values.ingress.enabled (not .Values.trustedProxies) (not (hasKey .Values.settings "RAGSITE_TRUSTED_PROXIES")) -}}
{{- fail "trustedProxies: the networks of the ingress controller's pods; else all people have its address" -}}
{{- end -}}
{{- if .Values.ollama.url -}}{{- $_ := set $made "OLLAMA_BASE_URL" .Values.ollama.url -}}{{- end -}}
{{- range $variable, $value := dict "RAGSITE_UPLOADS" .Values.uploads.bucket "AWS_ENDPOINT_URL_S3" .Values.uploads.endpoint "AWS_DEFAULT_REGION" .Values.uploads.region -}}
{{- if $value -}}{{- $_ := set $made $variable $value -}}{{- end -}}
{{- end -}}
{{- range $name, $value := merge (dict) .Values.settings $made }}
{{- if hasKey $.Values.secrets $name -}}
{{- fail (printf "settings.%s: a secret; name it in existingSecret or secrets.%s" $name $name) -}}
{{- end }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- range $name, $from := .Values.secrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ required (printf "existingSecret, or secrets.%s.existingSecret" $name) ($from.existingSecret | default $.Values.existingSecret) }}
      key: {{ $from.key | default $name }}
      optional: {{ $from.optional | default false }}
{{- end }}
{{- end -}}

{{- /* What all pods have in common. A Service named `ragsite` would give them RAGSITE_PORT=tcp://…, which the site
refuses as a port: enableServiceLinks. */ -}}
{{- define "ragsite.pod" -}}
enableServiceLinks: false
automountServiceAccountToken: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "ragsite.container" -}}
image: {{ include "ragsite.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "ragsite.volumes" -}}
- name: data
{{- if .Values.uploads.bucket }}
  emptyDir:
    sizeLimit: {{ .Values.tmpSize }}
{{- else }}
  persistentVolumeClaim:
    claimName: {{ include "ragsite.claim" . }}
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmpSize }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
