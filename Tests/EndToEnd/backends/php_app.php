<?php
// The resources of flask_app.py by PHP, which takes the path from where Symfony, Laminas and Yii have taken it, the method
// from where Symfony and Laravel do, and believes its proxy.
$path = '';
foreach (['HTTP_X_ORIGINAL_URL', 'UNENCODED_URL', 'HTTP_UNENCODED_URL', 'HTTP_X_REWRITE_URL', 'REQUEST_URI'] as $name) {
    $path = $path ?: explode('?', $_SERVER[$name] ?? '')[0];
}
$base = $_SERVER['HTTP_X_FORWARDED_PREFIX'] ?? '';
if ($base !== '' && str_starts_with($path, $base)) {
    $path = substr($path, strlen($base));
}
$path = rawurldecode($path);
$resource = 'none';
foreach (['/gu/staff/' => 'staff', '/gu/' => 'gu', '/admin/' => 'admin'] as $prefix => $name) {
    if ($resource === 'none' && str_starts_with($path, $prefix)) {
        $resource = $name;
    }
}
if (preg_match('#^/users/([^/]*)/#', $path, $found)) {
    $resource = 'user ' . $found[1];
}
http_response_code($resource === 'none' ? 404 : 200);
header('Content-Type: application/json');
echo json_encode([
    'resource' => $resource,
    'method' => $_SERVER['HTTP_X_HTTP_METHOD_OVERRIDE'] ?? $_SERVER['REQUEST_METHOD'],
    'host' => $_SERVER['HTTP_X_FORWARDED_HOST'] ?? $_SERVER['HTTP_HOST'],
    'scheme' => !empty($_SERVER['HTTPS']) || !empty($_SERVER['HTTP_FRONT_END_HTTPS']) || !empty($_SERVER['HTTP_HTTPS'])
        ? 'https' : ($_SERVER['HTTP_X_FORWARDED_PROTO'] ?? 'http'),
    'client' => $_SERVER['HTTP_CLIENT_IP'] ?? $_SERVER['HTTP_X_FORWARDED_FOR'] ?? $_SERVER['REMOTE_ADDR'],
    'user' => $_SERVER['REMOTE_USER'] ?? $_SERVER['HTTP_REMOTE_USER'] ?? $_SERVER['PHP_AUTH_USER'] ?? getenv('HTTP_PROXY') ?: null,
]);
